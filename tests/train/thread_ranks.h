// Ranks as threads of a single process.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <octet/train/communicator.h>

namespace octet::train {

/// Messages between ranks.
class Mail {
 public:
  explicit Mail(int ranks) : ranks_(ranks) {}
  int ranks() const { return ranks_; }

  void send(int from, int to, std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    letters_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  std::vector<std::byte> receive(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& letters = letters_[{from, to}];
    changed_.wait(lock, [&] { return !letters.empty(); });
    std::vector<std::byte> first = std::move(letters.front());
    letters.pop_front();
    return first;
  }

 private:
  int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> letters_;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(Mail& mail, int rank) : mail_(mail), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return mail_.ranks(); }

 private:
  void move(std::span<const std::span<const std::byte>> to,
            std::span<const std::span<std::byte>> from) override {
    for (int r = 0; r < size(); ++r) {
      const auto& part = to[static_cast<size_t>(r)];
      if (!part.empty()) mail_.send(rank_, r, part);
    }
    for (int r = 0; r < size(); ++r) {
      const auto& part = from[static_cast<size_t>(r)];
      if (part.empty()) continue;
      const std::vector<std::byte> bytes = mail_.receive(r, rank_);
      if (bytes.size() != part.size()) throw std::runtime_error("other sizes");
      std::memcpy(part.data(), bytes.data(), bytes.size());
    }
  }

  Mail& mail_;
  int rank_;
};

/// Runs `body` on each of `size` ranks and waits for them.
/// Throws: the error of the first rank that throws.
inline void on_ranks(int ranks,
                     const std::function<void(Communicator&)>& body) {
  Mail mail(ranks);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        ThreadRank rank(mail, r);
        try {
          body(rank);
        } catch (...) {
          errors[static_cast<size_t>(r)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace octet::train
