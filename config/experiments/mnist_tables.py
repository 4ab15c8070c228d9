"""Files of a study of MNIST, pixels on pixels: a table of some images, and what is public of the others.

    python config/experiments/mnist_tables.py FOLDER/mnist/mnist.npz mnist
    snakemake --cores 2 --configfile config/mnist.yaml

The second command takes the files that the first wrote. Sizes stand below.
"""

import argparse
from pathlib import Path

import numpy as np

from dpgrs.io.files import save_arrays
from dpgrs.public_random import generator
from dpgrs_papers.experiments.primo_mnist import LARGEST, LIT_SHARE

IMAGES, PIXELS, SEED = 10_000, 392, 1
# A centre must lie within its range, also of a pixel that is lit in no image.
LEAST_CENTRE = LARGEST / 1000
TABLE, RANGES, SCALES = "images.npz", "ranges.tsv", "scales.tsv"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("images", type=Path, help="file with an array x_train, (n_images, ...) of bytes")
    parser.add_argument("output", type=Path, help="folder to write to")
    arguments = parser.parse_args()
    with np.load(arguments.images) as arrays:
        images = arrays["x_train"]
    write_tables(images.reshape(len(images), -1), arguments.output)


def write_tables(images, folder, *, n_images=IMAGES, n_pixels=PIXELS, seed=SEED):
    """Write some images as a table, and ranges and scales from the others.

    Parameters
    ----------
    images : (n, n_all) of 0 to 255.
    folder : Path
    n_images : int, of the study; below n.
    n_pixels : int, to predict from, `x1` and so on in the table; outcomes are the others that are lit often
        enough, `y1` and so on.
    seed : int, of images and pixels.
    """
    rng = generator(seed, "mnist tables")
    order, pixels = rng.permutation(len(images)), rng.permutation(images.shape[1])
    own, others = np.split(images[order], [n_images])
    known, rest = np.split(pixels, [n_pixels])
    targets = rest[(others[:, rest] > 0).mean(axis=0) >= LIT_SHARE]
    folder.mkdir(parents=True, exist_ok=True)
    save_arrays(folder / TABLE, {"x": own[:, known], "y": own[:, targets]})
    centre = np.maximum(others[:, known].mean(axis=0), LEAST_CENTRE)
    lines = [f"x{j}\t0\t{LARGEST:g}\t{value:.6g}" for j, value in enumerate(centre, start=1)]
    _write(folder / RANGES, "column\tlow\thigh\tcentre", lines)
    seen = others[:, targets].astype(float)
    pairs = enumerate(zip(seen.mean(axis=0), seen.std(axis=0), strict=True), start=1)
    _write(folder / SCALES, "outcome\tcentre\tscale", [f"y{j}\t{a:.6g}\t{b:.6g}" for j, (a, b) in pairs])


def _write(path, header, lines):
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
