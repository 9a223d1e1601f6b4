// Classes that flatc generates from tflite.fbs.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <tflite_generated.h>
#pragma GCC diagnostic pop
