// All layers, the graph, the model and the zoo.
#pragma once

#include <octet/layers/activation.h>
#include <octet/layers/attention.h>
#include <octet/layers/convolution.h>
#include <octet/layers/custom_layer.h>
#include <octet/layers/dense.h>
#include <octet/layers/embedding.h>
#include <octet/layers/graph.h>
#include <octet/layers/inference_session.h>
#include <octet/layers/merging.h>
#include <octet/layers/model.h>
#include <octet/layers/normalization.h>
#include <octet/layers/ops.h>
#include <octet/layers/pooling.h>
#include <octet/layers/preprocessing.h>
#include <octet/layers/recurrent.h>
#include <octet/layers/regularization.h>
#include <octet/layers/reshaping.h>
#include <octet/layers/zoo.h>
