// All layers, the graph and the model.
#pragma once

#include <octet/layers/batch_normalization.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/dense.h>
#include <octet/layers/flatten.h>
#include <octet/layers/graph.h>
#include <octet/layers/max_pooling2d.h>
#include <octet/layers/model.h>
#include <octet/layers/registry.h>
#include <octet/layers/relu.h>
#include <octet/layers/sequential.h>
#include <octet/layers/softmax.h>
