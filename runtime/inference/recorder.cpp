#include "recorder.h"

#include <utility>

namespace octet::inference {
namespace {

thread_local Recorder* current = nullptr;

}  // namespace

Recorder* recorder() { return current; }

RecorderGuard::RecorderGuard(Recorder& recorder)
    : before_(std::exchange(current, &recorder)) {}
RecorderGuard::~RecorderGuard() { current = before_; }

}  // namespace octet::inference
