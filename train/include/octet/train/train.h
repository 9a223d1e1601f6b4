// Includes all headers of the train module.
#pragma once

// First, so that compile errors show the shortest include path.
// clang-format off
#include <octet/train/evaluate.h>
// clang-format on
#include <octet/train/augment.h>
#include <octet/train/batch_statistics.h>
#include <octet/train/calibrate.h>
#include <octet/train/callback.h>
#include <octet/train/callbacks.h>
#include <octet/train/checkpointer.h>
#include <octet/train/clip.h>
#include <octet/train/communicator.h>
#include <octet/train/confusion_matrix.h>
#include <octet/train/find_learning_rate.h>
#include <octet/train/fit.h>
#include <octet/train/keep_best.h>
#include <octet/train/loader.h>
#include <octet/train/logits_model.h>
#include <octet/train/loss.h>
#include <octet/train/loss_names.h>
#include <octet/train/metric.h>
#include <octet/train/one_hot.h>
#include <octet/train/optimizer.h>
#include <octet/train/oscillations.h>
#include <octet/train/progress_bar.h>
#include <octet/train/qat_preset.h>
#include <octet/train/schedule.h>
#include <octet/train/stable_rate.h>
#include <octet/train/training_state.h>
