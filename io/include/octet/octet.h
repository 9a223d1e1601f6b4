// All of Octet in one header.
#pragma once

// In the order of the modules, so that compile errors name the shortest path to
// a header.
// clang-format off
#include <octet/runtime/system.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/program.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/session/session.h>
#include <octet/train/train.h>
#include <octet/io/io.h>
// clang-format on
