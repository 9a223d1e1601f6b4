#include "together.h"

#include <algorithm>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "bytes.h"

namespace octet::train {
namespace {

/// An error as bytes. Others than Octet's are told by their text.
std::string told(const std::exception& error) {
  BytesWriter bytes;
  const auto* own = dynamic_cast<const Error*>(&error);
  bytes.add_value(own != nullptr ? own->kind() : ErrorKind::internal);
  bytes.add_text(own != nullptr ? own->message() : error.what());
  bytes.add_value(uint64_t{own != nullptr ? own->context().size() : 0});
  if (own != nullptr) {
    for (const std::string& frame : own->context()) bytes.add_text(frame);
  }
  return bytes.take();
}

template <class E>
[[noreturn]] void raise(const std::string& message,
                        const std::vector<std::string>& frames) {
  E error(message);
  for (const std::string& frame : frames) error.add_context(frame);
  throw error;
}

[[noreturn]] void raise(const std::string& told, const std::string& where) {
  BytesReader bytes(told);
  const auto kind = bytes.value<ErrorKind>();
  const std::string message = bytes.text();
  std::vector<std::string> frames;
  for (auto left = bytes.value<uint64_t>(); left > 0; --left) {
    frames.push_back(bytes.text());
  }
  if (!where.empty()) frames.push_back(where);
  switch (kind) {
    case ErrorKind::shape:
      raise<ShapeError>(message, frames);
    case ErrorKind::value:
      raise<ValueError>(message, frames);
    case ErrorKind::not_found:
      raise<NotFoundError>(message, frames);
    case ErrorKind::unsupported:
      raise<UnsupportedError>(message, frames);
    case ErrorKind::format:
      raise<FormatError>(message, frames);
    case ErrorKind::io:
      raise<IoError>(message, frames);
    case ErrorKind::interrupted:
      raise<InterruptedError>(message, frames);
    case ErrorKind::internal:
      break;
  }
  raise<InternalError>(message, frames);
}

}  // namespace

std::vector<std::string> together(Communicator& ranks,
                                  const std::function<std::string()>& body) {
  if (ranks.size() == 1) return {body()};
  constexpr char kDone = 'd';
  constexpr char kFailed = 'f';
  std::string own;
  try {
    own = kDone + body();
  } catch (const std::exception& error) {
    own = kFailed + told(error);
  } catch (...) {
    own = kFailed + told(std::runtime_error("an unknown exception"));
  }
  std::vector<std::string> all = ranks.gather(own);
  const auto failed = std::ranges::find_if(
      all, [](const std::string& text) { return text.front() == kFailed; });
  if (failed != all.end()) {
    const bool same = std::ranges::all_of(
        all, [&](const std::string& text) { return text == *failed; });
    raise(failed->substr(1),
          same ? ""
               : fmt::format("on rank {} of {}", failed - all.begin(),
                             ranks.size()));
  }
  for (std::string& text : all) text.erase(0, 1);
  return all;
}

void run_on_all(Communicator& ranks, const std::function<void()>& body) {
  together(ranks, [&] {
    body();
    return std::string();
  });
}

}  // namespace octet::train
