// All headers of io.
#pragma once

// clang-format off
// Before headers that include it, so that compile errors name the shortest
// path.
#include <octet/io/onnx.h>
// clang-format on
#include <octet/io/compare.h>
#include <octet/io/data.h>
#include <octet/io/detection.h>
#include <octet/io/engine_profile.h>
#include <octet/io/image.h>
#include <octet/io/json.h>
#include <octet/io/keras.h>
#include <octet/io/lint.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx_reference.h>
#include <octet/io/report.h>
#include <octet/io/tensorboard.h>
#include <octet/io/tflite.h>
