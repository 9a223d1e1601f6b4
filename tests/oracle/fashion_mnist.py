"""Reads Fashion-MNIST from the Debian package, and evaluates sessions on it."""

import gzip
import pathlib

import numpy as np

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")


def test_set(folder=FOLDER):
    """Returns images [n,1,28,28] in [0,1] and their classes."""
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16)
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.reshape(-1, 1, 28, 28).astype(np.float32) / 255, labels


def accuracy(session, images, labels):
    """Returns the accuracy of a session with one input, in percent."""
    name = session.get_inputs()[0].name
    right = 0
    for first in range(0, len(images), 500):
        part = slice(first, first + 500)
        scores = session.run(None, {name: images[part]})[0]
        right += int((scores.argmax(1) == labels[part]).sum())
    return 100.0 * right / len(labels)
