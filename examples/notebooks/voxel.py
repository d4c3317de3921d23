# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The stiffness of a porous sample
#
# From a three-dimensional image to its apparent stiffness tensor, to the stresses inside, and to how stiffness falls
# with porosity. Open this file as a notebook with Jupytext, or run it as it is.

# %%
import matplotlib.pyplot as plt
import numpy as np

import pogo

# %% [markdown]
# Smoothed noise above a threshold is solid. Arrays are indexed [z, y, x].

# %%
n = 20
waves = np.fft.fftfreq(n) ** 2
smooth = np.exp(-250 * (waves[:, None, None] + waves[:, None] + waves))
noise = np.fft.ifftn(np.fft.fftn(np.random.default_rng(1).normal(size=(n, n, n))) * smooth).real


def sample(fraction):
    return noise >= np.quantile(noise, 1 - fraction)


# %% [markdown]
# Six load cases give the tensor; stresses and strains are ordered xx, yy, zz, yz, xz, xy. What hangs in the air is left
# out.

# %%
young, poisson = 10e3, 0.3  # MPa
keep = {"keep": "largest"}
C = pogo.voxel.stiffness(sample(0.5), spacing=0.02, young=young, poisson=poisson, image_options=keep)
print(np.round(C))
assert np.allclose(C, C.T) and np.all(np.linalg.eigvalsh(C) > 0)

# %% [markdown]
# No porous sample is stiffer than the mean of its parts (Voigt's bound).

# %%
fractions = [0.4, 0.7, 1.0]
solid = young * (1 - poisson) / (1 + poisson) / (1 - 2 * poisson)
found = [
    pogo.voxel.stiffness(sample(f), spacing=0.02, young=young, poisson=poisson, image_options=keep)[2, 2]
    for f in fractions
]
assert all(c <= f * solid * (1 + 1e-6) for c, f in zip(found, fractions))
assert abs(found[-1] / solid - 1) < 1e-5
figure, axes = plt.subplots()
axes.plot(fractions, np.array(found) / solid, "o-", label="sample")
axes.plot([0, 1], [0, 1], "--", label="Voigt's bound")
axes.set(xlabel="solid fraction", ylabel="C_zz over that of the solid")
axes.legend()
figure.savefig("voxel-stiffness.png")

# %% [markdown]
# Compression by 1 % between glued platens, and von Mises stresses in a slice.

# %%
run = pogo.voxel.solve(
    sample(0.5),
    spacing=0.02,
    young=young,
    poisson=poisson,
    load={"preset": "axial", "strain": -0.01},
    image_options=keep,
    output={"fields": ["von_mises"]},
)
case = run.summary["cases"][0]
print(f"apparent modulus {case['apparent']['value']:.0f} MPa, failure at {case['failure']['load'][2]:.3f} N")
stress = run.fields[0].cell_data["von_mises"]
figure, axes = plt.subplots()
image = axes.imshow(np.ma.masked_equal(stress[:, n // 2], 0), origin="lower", cmap="cividis")
axes.set(xlabel="x, voxels", ylabel="z, voxels", title="Compressed by 1 %")
figure.colorbar(image, label="von Mises stress, MPa")
figure.savefig("voxel-stress.png")
