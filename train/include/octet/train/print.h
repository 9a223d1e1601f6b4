// Text of the result of a fit: `std::cout << history`.
#pragma once

#include <iosfwd>
#include <string>

#include <octet/train/fit.h>

namespace octet::train {

/// Returns a table with a row per epoch: number from 1, loss, metrics, then
/// those of the validation data ("val_loss", ...), the gradient norm if
/// reported, the learning rate, and the seconds of training. An empty history
/// is "no epochs".
std::string to_string(const History& history);

/// Prints to_string(history).
std::ostream& operator<<(std::ostream& out, const History& history);

}  // namespace octet::train
