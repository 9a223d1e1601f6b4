// Includes all headers of the train module.
#pragma once

// First, so that compile errors show the shortest include path.
// clang-format off
#include <octet/train/detection.h>
#include <octet/train/evaluate.h>
// clang-format on
#include <octet/train/callback.h>
#include <octet/train/communicator.h>
#include <octet/train/data_loader.h>
#include <octet/train/fit.h>
#include <octet/train/learning_rate.h>
#include <octet/train/loss.h>
#include <octet/train/metric.h>
#include <octet/train/optimizer.h>
#include <octet/train/qat_preset.h>
