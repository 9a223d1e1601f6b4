// All of training.
#pragma once

#include <octet/train/fit.h>
#include <octet/train/loader.h>
#include <octet/train/optimizer.h>
#include <octet/train/progress_bar.h>
#include <octet/train/schedule.h>
