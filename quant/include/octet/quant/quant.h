// All of quantization.
#pragma once

#include <octet/quant/calibrate.h>
#include <octet/quant/plan.h>
#include <octet/quant/qat.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
