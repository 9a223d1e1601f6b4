// Ctrl-C and SIGTERM during a fit.
#include <csignal>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/train/fit.h>

#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::HasSubstr;

/// Raises a signal during a step.
class Presser final : public Callback {
 public:
  Presser(int64_t epoch, int64_t step, int signal = SIGINT)
      : epoch_(epoch), step_(step), signal_(signal) {}
  void on_step(const Progress& progress) override {
    if (progress.epoch == epoch_ && progress.step == step_) {
      std::raise(signal_);
    }
    ++steps;
  }
  int64_t steps = 0;

 private:
  int64_t epoch_;
  int64_t step_;
  int signal_;
};

FitOptions options_with(std::shared_ptr<Callback> callback = nullptr) {
  FitOptions options{.epochs = 3, .batch_size = 5};
  if (callback != nullptr) options.callbacks = {std::move(callback)};
  return options;
}

/// Expects that a fit is interrupted, with `part` in the message.
void expect_interrupted(Model& model, const FitOptions& options,
                        const std::string& part) {
  const Failure failure =
      failure_of<InterruptedError>([&] { fit(model, blobs(20), options); });
  EXPECT_EQ(failure, (Failure{"interrupted", "fit"}));
  EXPECT_THAT(failure.message, HasSubstr(part));
}

TEST(Interrupt, EndsAFitAfterTheCurrentStep) {
  Model model = small_network();
  const auto presser = std::make_shared<Presser>(1, 2);
  expect_interrupted(model, options_with(presser),
                     "after step 2 of epoch 2; no checkpoint");
  EXPECT_EQ(presser->steps, 4 + 2);
  // The next fit is not affected.
  EXPECT_EQ(fit(model, blobs(20), options_with()).size(), 3u);
}

TEST(Interrupt, SavesAStateThatResumesBitIdentically) {
  Model expected = small_network();
  fit(expected, blobs(20), options_with());
  for (const auto& [epoch, step] : {std::pair{0, 1}, {1, 3}, {1, 4}, {2, 3}}) {
    SCOPED_TRACE(testing::Message() << epoch << " " << step);
    const auto place = std::make_shared<MemoryCheckpoints>(1000);
    Model model = small_network();
    FitOptions options = options_with(std::make_shared<Presser>(epoch, step));
    options.checkpoints = place;
    expect_interrupted(model, options, "saved in 'memory'");
    Model later = small_network();
    options = options_with();
    options.checkpoints = place;
    options.resume = true;
    EXPECT_EQ(fit(later, blobs(20), options).size(), 3u);
    EXPECT_EQ(weights_of(later), weights_of(expected));
  }
}

TEST(Interrupt, WaitsForAccumulatedGradients) {
  Model model = small_network();
  FitOptions options = options_with(std::make_shared<Presser>(0, 1));
  options.accumulate = 2;
  expect_interrupted(model, options, "after step 2 of epoch 1");
}

TEST(Interrupt, HasNoEffectAtTheLastStep) {
  Model model = small_network();
  EXPECT_EQ(fit(model, blobs(20), options_with(std::make_shared<Presser>(2, 4)))
                .size(),
            3u);
}

TEST(Interrupt, ReportsAStateThatCannotBeSaved) {
  Model model = small_network();
  const auto place = std::make_shared<MemoryCheckpoints>(1000);
  class Full final : public Callback {
   public:
    explicit Full(MemoryCheckpoints& place) : place_(place) {}
    void on_step(const Progress& progress) override {
      if (progress.epoch != 1) return;
      place_.full = true;
      if (progress.step == 1) std::raise(SIGINT);
    }

   private:
    MemoryCheckpoints& place_;
  };
  FitOptions options = options_with(std::make_shared<Full>(*place));
  options.checkpoints = place;
  const WarningSink before = set_warning_sink({});
  expect_interrupted(model, options, "could not be saved");
  set_warning_sink(before);
}

TEST(Interrupt, EndsAFitOnSigterm) {
  const auto own = std::signal(SIGINT, [](int) {});
  Model model = small_network();
  expect_interrupted(model,
                     options_with(std::make_shared<Presser>(1, 2, SIGTERM)),
                     "after step 2 of epoch 2");
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);
  EXPECT_NE(std::signal(SIGINT, own), SIG_DFL);
}

/// mpirun and a scheduler may both send SIGTERM.
TEST(Interrupt, WaitsForTheStepAfterSeveralSigterms) {
  class Twice final : public Callback {
    void on_step(const Progress&) override {
      std::raise(SIGTERM);
      std::raise(SIGTERM);
    }
  };
  Model model = small_network();
  expect_interrupted(model, options_with(std::make_shared<Twice>()),
                     "after step 1 of epoch 1");
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);
}

int handled = 0;
bool with_sender = false;

TEST(Interrupt, PreservesAHandlerWithItsFlags) {
  struct sigaction own = {};
  own.sa_sigaction = [](int, siginfo_t* info, void*) {
    with_sender = info->si_pid == getpid();
  };
  own.sa_flags = SA_SIGINFO;
  struct sigaction before = {};
  sigaction(SIGINT, &own, &before);
  Model model = small_network();
  fit(model, blobs(20), options_with());
  struct sigaction after = {};
  sigaction(SIGINT, nullptr, &after);
  EXPECT_NE(after.sa_flags & SA_SIGINFO, 0);
  EXPECT_EQ(after.sa_sigaction, own.sa_sigaction);
  std::raise(SIGINT);
  EXPECT_TRUE(with_sender);
  sigaction(SIGINT, &before, nullptr);
}

TEST(Interrupt, PreservesAHandlerInstalledMeanwhile) {
  class Installer final : public Callback {
    void on_step(const Progress&) override {
      std::signal(SIGINT, [](int) { ++handled; });
    }
  };
  Model model = small_network();
  fit(model, blobs(20), options_with(std::make_shared<Installer>()));
  const int before = handled;
  std::raise(SIGINT);
  EXPECT_EQ(handled, before + 1);
  std::signal(SIGINT, SIG_DFL);
  handled = 0;
}

TEST(Interrupt, PreservesAHandlerOfTheProgram) {
  const auto before = std::signal(SIGINT, [](int) { ++handled; });
  Model model = small_network();
  fit(model, blobs(20), options_with(std::make_shared<Presser>(0, 1)));
  EXPECT_EQ(handled, 1);
  const auto own = std::signal(SIGINT, before);
  EXPECT_NE(own, SIG_DFL);
}

TEST(InterruptDeathTest, EndsTheProgramOnTheSecondCtrlC) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  const auto twice = [] {
    std::signal(SIGINT, SIG_DFL);
    Model model = small_network();
    class Twice final : public Callback {
      void on_step(const Progress&) override {
        std::raise(SIGINT);
        std::raise(SIGINT);
      }
    };
    fit(model, blobs(20), options_with(std::make_shared<Twice>()));
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace octet::train
