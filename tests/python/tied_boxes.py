"""Writes a deck of two boxes of other meshes, one beside the other: tied_boxes.py KIND CELLS FILE [water].

The second is tied to the first, its far side belongs to a rigid body, and an equation joins two nodes of the near side of the first,
which a burst pushes. KIND is CPE4, C3D8 or C3D8R; the first box has CELLS along each edge. With `water` a box of it, with a mesh of its
own, is tied to the near side of the first."""

import sys

BURST = [0.0, 0.3, 0.9, 0.6, -0.4, -1.0, -0.5, 0.2, 0.1, 0.0]
STEPS = 800


class Box:
    """A box with its lower corner at (x, 0, 0)."""

    def __init__(self, x, width, cells, dimension, first):
        self.x, self.h, self.n, self.first = x, width / cells, cells, first
        self.layers = cells if dimension == 3 else 0
        self.dimension = dimension

    def label(self, i, j, k):
        return self.first + i + (self.n + 1) * (j + (self.n + 1) * k)

    def places(self):
        return [(i, j, k) for k in range(self.layers + 1) for j in range(self.n + 1) for i in range(self.n + 1)]

    def nodes(self):
        for i, j, k in self.places():
            x = [self.x + i * self.h, j * self.h, k * self.h][: self.dimension]
            yield f"{self.label(i, j, k)}, " + ", ".join(f"{value:.9e}" for value in x)

    def elements(self):
        for k in range(max(self.layers, 1)):
            for j in range(self.n):
                for i in range(self.n):
                    corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
                    levels = [k, k + 1] if self.layers else [k]
                    yield i, [self.label(*corner, level) for level in levels for corner in corners]

    def side(self, i):
        return [self.label(*place) for place in self.places() if place[0] == i]


def lines(values):
    return "".join(f"{value},\n" for value in values)


def main():
    kind, cells, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    dimension = 3 if kind.startswith("C3D") else 2
    width = 1e-3 * cells
    near = Box(0.0, width, cells, dimension, 1)
    far = Box(width, width, round(1.3 * cells), dimension, 1 + len(near.places()))
    water = Box(-width, width, round(0.8 * cells), dimension, far.first + len(far.places()))
    boxes = [near, far] + ([water] if "water" in sys.argv[4:] else [])
    text = "*Heading\n*Node\n" + "".join(f"{node}\n" for box in boxes for node in box.nodes())
    joint, wet, number = {near: [], far: [], water: []}, [], 0
    for box, column in ((near, near.n - 1), (far, 0), (water, water.n - 1))[: len(boxes)]:
        acoustic = kind.replace("CPE", "AC2D").replace("C3D", "AC3D")
        text += f"*Element, type={acoustic}, elset=WATER\n" if box is water else f"*Element, type={kind}, elset=ALL\n"
        for i, nodes in box.elements():
            number += 1
            text += f"{number}, " + ", ".join(map(str, nodes)) + "\n"
            if i == column:
                joint[box].append(number)
            if box is near and i == 0:
                wet.append(number)
    right, left = ("S4", "S6") if dimension == 3 else ("S2", "S4")
    text += f"*Elset, elset=FIRST\n{lines(joint[near])}*Elset, elset=SECOND\n{lines(joint[far])}"
    text += f"*Surface, name=MASTER\nFIRST, {right}\n*Surface, name=SLAVE\nSECOND, {left}\n"
    text += f"*Nset, nset=END\n{lines(far.side(far.n))}"
    pushed, opposite = near.side(0)[0], near.side(0)[-1]
    text += f"*Nset, nset=WATCH\n{lines([pushed, near.side(near.n)[0], far.side(0)[1], far.side(far.n)[-1]])}"
    text += "*Material, name=STEEL\n*Density\n7800.\n*Elastic\n210e9, 0.3\n*Solid Section, elset=ALL, material=STEEL\n"
    text += "" if dimension == 3 else "1.,\n"
    text += "*Amplitude, name=BURST\n" + "".join(f"{1e-7 * k:.3e}, {value}\n" for k, value in enumerate(BURST))
    text += "*Tie, name=JOINT\nSLAVE, MASTER\n"
    if water in boxes:
        text += f"*Elset, elset=DRY\n{lines(wet)}*Elset, elset=WET\n{lines(joint[water])}"
        text += f"*Surface, name=DRYFACE\nDRY, {left}\n*Surface, name=WETFACE\nWET, {right}\n*Tie, name=BATH\nDRYFACE, WETFACE\n"
        text += "*Material, name=WATER\n*Density\n1000.\n*Acoustic Medium, bulk modulus\n2.2e9,\n"
        text += "*Solid Section, elset=WATER, material=WATER\n" + ("" if dimension == 3 else "1.,\n")
        text += f"*Nset, nset=HEARD\n{lines([water.side(water.n)[0], water.side(water.n - 2)[1]])}"
    middle = ", ".join([f"{2 * width:.6e}"] + [f"{width / 2:.6e}"] * (dimension - 1))
    text += f"*Node, nset=REF\n9000001, {middle}\n*Rigid Body, pin nset=END, ref node=9000001\n"
    text += f"*Equation\n2\n{pushed}, 1, 1., {opposite}, 1, -0.5\n"
    increment = 0.4 * far.h / 6000
    text += f"*Step\n*Dynamic, Explicit, direct user control\n{increment:.3e}, {STEPS * increment:.3e}\n"
    text += f"*Cload, amplitude=BURST\n{pushed}, 1, 1e4\n{pushed}, 2, 3e3\n"
    text += "*Output, history, frequency=2\n*Node Output, nset=WATCH\nU\n"
    text += "*Node Output, nset=HEARD\nPOR\n*End Step\n" if water in boxes else "*End Step\n"
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
