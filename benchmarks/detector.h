// A detection network for benchmarks.
#pragma once

#include <octet/layers/model.h>

namespace octet::bench {

/// Returns a network of YOLOv8n's kind and size (320 x 320 x 3; 3.2 million
/// parameters): stages of cross-stage partial blocks, pyramid pooling, a path
/// up and down three scales, and a head per scale for 64 bins of box distances
/// and 80 classes.
/// Shapes: [n,320,320,3] -> [n,2100,144].
/// Source: Ultralytics YOLOv8, yolov8.yaml, scale n.
Model detector();

}  // namespace octet::bench
