// All of input and output.
#pragma once

#include <octet/io/fashion_mnist.h>
#include <octet/io/idx.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
