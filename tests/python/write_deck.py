"""Writes a case of independent.py as an Abaqus deck and a job."""

import itertools
import json

import numpy as np


def row(*values):
    return ", ".join(v if isinstance(v, str) else repr(float(v)) for v in values) + "\n"


def rows(values, width=8):
    return "".join(row(*values[i:i + width]) for i in range(0, len(values), width))


def write(case, folder):
    label, out, sets, step = case["labels"], ["*HEADING\nindependent\n"], [], []
    inside = ", INSTANCE=I" if case["instance"] else ""
    if inside:
        out.append("*PART, NAME=P\n")
    out.append("*NODE\n" + "".join(row(str(l), *x) for l, x in zip(label, case["x"])))
    number = itertools.count(101)
    for kind, connectivity, name in case["groups"]:
        section = case["sections"][name]
        out.append(f"*ELEMENT, TYPE={kind}, ELSET={name}\n")
        out += [row(str(next(number)), *(str(label[n]) for n in nodes)) for nodes in connectivity]
        a, b, axis, degrees = section["orientation"]
        out.append(f"*ORIENTATION, NAME=O{name}\n" + row(*a, *b) + row(str(axis), degrees)
                   + f"*SOLID SECTION, ELSET={name}, MATERIAL={section['material']}, ORIENTATION=O{name}, "
                   + f"CONTROLS=C{name}\n"
                   + row(section["thickness"]))
        sets.append(f"*SECTION CONTROLS, NAME=C{name}, HOURGLASS=STIFFNESS\n" + row(section["hourglass"]))
        step.append(f"*FIXED MASS SCALING, ELSET={'I.' if inside else ''}{name}, FACTOR={section['mass']!r}\n")
    if inside:
        shift, a, b, degrees = case["instance"]
        out.append("*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=I, PART=P\n" + row(*shift) + row(*a, *b, degrees)
                   + "*END INSTANCE\n")
    names = itertools.count()

    def members(kind, labels):
        name = f"{kind[0]}{next(names)}"
        out.append(f"*{kind}, {kind}={name}{inside}\n" + rows([str(v) for v in labels]))
        return name

    out.append(f"*NSET, NSET=ALL{inside}\n" + rows([str(v) for v in label]))
    n_elements = sum(len(connectivity) for _, connectivity, _ in case["groups"])
    out.append(f"*ELSET, ELSET=EALL{inside}, GENERATE\n101, {100 + n_elements}\n")
    initial = [row(members("NSET", label[nodes]), str(c + 1), v) for nodes, c, v in case["velocities"]]
    for kind, where, *rest, magnitude, amp in case["loads"]:
        amp = f", AMPLITUDE={amp}\n" if amp else "\n"
        name = members("NSET", label[where]) if kind == "CLOAD" else members("ELSET", where + 101)
        if kind == "CLOAD":
            step.append("*CLOAD" + amp + row(name, str(rest[0] + 1), magnitude))
        elif kind == "TRVEC":
            out.append(f"*SURFACE, NAME=S{name}, TYPE=ELEMENT\n{name}, S{rest[0]}\n")
            step.append("*DSLOAD" + amp + row("S" + name, "TRVEC", magnitude, *rest[1]))
        elif kind == "P":
            step.append("*DLOAD" + amp + row(name, f"P{rest[0]}", magnitude))
        elif kind == "GRAV":
            step.append("*DLOAD" + amp + row(name, "GRAV", magnitude, *rest[0]))
        else:
            step.append("*DLOAD" + amp + row(name, "B" + "XYZ"[np.argmax(rest[0])], magnitude))
    for nodes, component, kind, value, amp in case["boundaries"]:
        name, c = members("NSET", label[nodes]), str(component + 1)
        step.append(f"*BOUNDARY, TYPE={kind}" + (f", AMPLITUDE={amp}\n" if amp else "\n") + row(name, c, c, value))
    out += ["*END ASSEMBLY\n" if inside else "", *sets]
    for name, (density, law, constants, alpha) in case["materials"].items():
        out.append(f"*MATERIAL, NAME={name}\n*DENSITY\n{density!r}\n*ELASTIC, TYPE={law}\n{rows(constants)}"
                   f"*DAMPING, ALPHA={alpha!r}\n")
    job = []
    for name, (kind, v) in case["amplitudes"].items():
        if kind.isupper():
            head = row(str(len(v) // 2 - 1), *v[:3]) + rows(v[3:]) if kind == "PERIODIC" else rows(v)
            out.append(f"*AMPLITUDE, NAME={name}, DEFINITION={kind}\n{head}")
        else:
            keys = {"ricker": ("frequency", "peak_time"), "gaussian_pulse": ("rate", "peak_time")}
            first, second = keys.get(kind, ("frequency", "cycles"))
            job.append(f'[[amplitude]]\nname = "{name}"\nkind = "{kind}"\n{first} = {v[0]!r}\n{second} = {v[1]!r}\n')
            out.append(f"*AMPLITUDE, NAME={name}\n0., 1., 1., 1.\n")
    for i, layer in enumerate(case["layers"]):
        job.append(f'[[absorbing]]\nname = "L{i}"\n' + "".join(f"{k} = {json.dumps(v)}\n" for k, v in layer.items()))
    out += ["*INITIAL CONDITIONS, TYPE=VELOCITY\n", *initial, "*STEP\n*DYNAMIC, EXPLICIT, DIRECT USER CONTROL\n",
            row(case["dt"], case["dt"] * case["steps"]), *step,
            "*OUTPUT, HISTORY, FREQUENCY=1\n*NODE OUTPUT, NSET=ALL\nU, V, A, RF\n",
            "*ELEMENT OUTPUT, ELSET=EALL\nS, E, MISES, SENER\n*END STEP\n"]
    (folder / "model.inp").write_text("".join(out))
    (folder / "job.toml").write_text("".join(job))
