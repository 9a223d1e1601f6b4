#!/usr/bin/env python3
"""Prints TensorBoard's view of the event files of a folder.

One line per point, sorted by tag and step, numbers as Python's repr:
  scalars TAG STEP VALUE
  histograms TAG STEP [[left, right, count], ...]
TensorBoard's own reader checks the CRCs of all records and warns about damage; a
warning fails the run.

Exit codes: 0 success, 1 damaged or of an unknown kind, 2 wrong usage.
"""

import logging
import sys

from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.util import tensor_util


class Complaints(logging.Handler):
    """Collects the reader's warnings."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def main():
    if len(sys.argv) != 2:
        print("usage: read_events.py FOLDER", file=sys.stderr)
        return 2
    complaints = Complaints()
    logging.getLogger("tensorboard").addHandler(complaints)
    reader = plugin_event_accumulator.EventAccumulator(
        sys.argv[1], tensor_size_guidance={"scalars": 0, "histograms": 0})
    reader.Reload()
    for tag in sorted(reader.Tags()["tensors"]):
        plugin = reader.SummaryMetadata(tag).plugin_data.plugin_name
        if plugin not in ("scalars", "histograms"):
            print(f"{tag}: expected scalars or histograms, got {plugin}",
                  file=sys.stderr)
            return 1
        for event in sorted(reader.Tensors(tag), key=lambda e: e.step):
            value = tensor_util.make_ndarray(event.tensor_proto).tolist()
            print(plugin, tag, event.step, value)
    for text in complaints.texts:
        print(text, file=sys.stderr)
    return 1 if complaints.texts else 0


if __name__ == "__main__":
    sys.exit(main())
