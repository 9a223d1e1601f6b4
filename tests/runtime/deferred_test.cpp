// Deferred and eager evaluation of a quantized network agree in values and
// gradients, on every instruction set and thread count.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

namespace octet {
namespace {

struct Result {
  float loss = 0;
  std::vector<Tensor> gradients;
};

// A step of two residual blocks with batch norm and, optionally,
// fake-quantization of all inputs and weights.
Result step(bool quantized, int64_t channels) {
  Rng rng(7);
  std::vector<Variable> parameters;
  const auto make = [&](const Shape& shape, float mean, float deviation) {
    Tensor t(shape);
    rng.fill_normal(t, mean, deviation);
    parameters.emplace_back(t, true);
    return parameters.back();
  };
  const auto conv = [&](const Variable& x, int64_t out, int64_t stride) {
    const int64_t c = x.shape()[3];
    const Variable w =
        make({3, 3, c, out}, 0, std::sqrt(2.0f / static_cast<float>(9 * c)));
    Variable weight = w;
    if (quantized) {
      Tensor scale = absmax_per_channel(w.value(), -1);
      for (float& s : scale.f32()) s = scale_of_range(s, 127);
      weight = fake_quantize(w, {.scale = scale, .axis = -1, .low = -127});
    }
    const Variable z =
        conv2d(x, weight, {.strides{stride, stride}, .pads{1, 1, 1, 1}});
    Tensor mean = Tensor::zeros({out});
    Tensor variance = Tensor::full({out}, 1);
    return batch_norm_training(z, make({out}, 1, 0.1f), make({out}, 0, 0.1f),
                               mean.f32(), variance.f32(), 0.9f, 1e-3f);
  };
  const auto q = [&](const Variable& x, float range) {
    if (!quantized) return x;
    return fake_quantize(x, {.scale = Tensor::scalar(range / 127)});
  };

  Tensor images({6, 9, 7, 3});
  rng.fill_normal(images, 0, 1);
  Variable x = relu(conv(q(Variable(images), 3), channels, 1));
  for (int block = 0; block < 2; ++block) {
    const Variable in = q(x, 2);
    const Variable h = q(relu(conv(in, channels, 1), 6.0f), 2);
    // The block's input, quantized, is also the second term of the sum.
    x = relu(add(conv(h, channels, 1), in));
  }
  x = max_pool2d(x, {2, 2}, {.strides{2, 2}});
  x = reshape(x, {6, Shape::kAnySize});
  const Variable w = make({x.shape()[1], 5}, 0, 0.05f);
  const Variable logits = bias_add(dense(q(x, 4), w), make({5}, 0, 0.1f));
  const Variable loss = softmax_cross_entropy(
      logits, Tensor::of<int64_t>({6}, {0, 1, 2, 3, 4, 0}));
  loss.backward();
  Result result{loss.value().item(), {}};
  for (const Variable& p : parameters) result.gradients.push_back(p.grad());
  return result;
}

double relative_distance(const Tensor& a, const Tensor& b) {
  double difference = 0;
  double length = 0;
  for (size_t i = 0; i < a.f32().size(); ++i) {
    difference += std::pow(double{a.f32()[i]} - b.f32()[i], 2);
    length += std::pow(double{b.f32()[i]}, 2);
  }
  return std::sqrt(difference / std::max(length, 1e-12));
}

bool same_bits(const Result& a, const Result& b) {
  if (std::memcmp(&a.loss, &b.loss, sizeof(float)) != 0) return false;
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    if (std::memcmp(a.gradients[i].raw(), b.gradients[i].raw(),
                    static_cast<size_t>(a.gradients[i].bytes())) != 0) {
      return false;
    }
  }
  return true;
}

struct Setting {
  Isa isa;
  bool quantized;
  int64_t channels;
};

class Deferred : public testing::TestWithParam<Setting> {
 protected:
  Deferred() : isa_(active_isa()), threads_(num_threads()) {
    set_active_isa(GetParam().isa);
  }
  ~Deferred() override {
    set_active_isa(isa_);
    set_num_threads(threads_);
  }

 private:
  Isa isa_;
  int threads_;
};

TEST_P(Deferred, AgreesWithEager) {
  const Setting& s = GetParam();
  const Result deferred = step(s.quantized, s.channels);
  const EagerGuard guard;
  const Result eager = step(s.quantized, s.channels);
  EXPECT_NEAR(deferred.loss, eager.loss, 1e-6 * std::fabs(eager.loss));
  ASSERT_EQ(deferred.gradients.size(), eager.gradients.size());
  for (size_t i = 0; i < eager.gradients.size(); ++i) {
    // The modes sum batch statistics in different precision, which shows most
    // in the gradient of a channel, a difference of larger terms (5e-5); a
    // flipped quantized value would change gradients by 1e-2.
    EXPECT_LT(relative_distance(deferred.gradients[i], eager.gradients[i]),
              1e-4)
        << "parameter " << i;
  }
}

TEST_P(Deferred, IsBitIdenticalForAnyNumberOfThreads) {
  const Setting& s = GetParam();
  set_num_threads(1);
  const Result one = step(s.quantized, s.channels);
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_TRUE(same_bits(one, step(s.quantized, s.channels))) << threads;
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> result;
  for (const Isa isa : supported_isas()) {
    for (const bool quantized : {false, true}) {
      for (const int64_t channels : {1, 4, 8, 17, 32}) {
        result.push_back({isa, quantized, channels});
      }
    }
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Steps, Deferred, testing::ValuesIn(settings()),
                         [](const auto& each) {
                           return std::string(to_string(each.param.isa)) +
                                  (each.param.quantized ? "_qat_" : "_float_") +
                                  std::to_string(each.param.channels);
                         });

// A convolution's sums belong to its output, not to a bias below a second one,
// and another consumer may have evaluated the biased value first.
TEST(BatchNorm, UsesTheStatisticsOfItsInput) {
  const auto run = [](int biases, bool looked_at) {
    Rng rng(5);
    Tensor image({2, 4, 3, 2});
    rng.fill_normal(image, 0, 1);
    Tensor kernel({3, 3, 2, 5});
    rng.fill_normal(kernel, 0, 1);
    const Variable w(kernel, true);
    Variable x = conv2d(Variable(image), w, {.pads{1, 1, 1, 1}});
    for (int i = 0; i < biases; ++i) {
      x = bias_add(x, Variable(Tensor::full({5}, 2)));
      if (looked_at) (void)x.value();
    }
    Tensor mean = Tensor::zeros({5});
    Tensor variance = Tensor::zeros({5});
    const Variable y =
        batch_norm_training(x, {}, {}, mean.f32(), variance.f32(), 0, 1e-3f);
    octet::mean(relu(y)).backward();
    std::vector<float> all;
    for (const Tensor& t : {y.value(), mean, variance, w.grad()}) {
      all.insert(all.end(), t.f32().begin(), t.f32().end());
    }
    return all;
  };
  for (const int biases : {0, 1, 2}) {
    for (const bool looked_at : {false, true}) {
      SCOPED_TRACE(testing::Message() << biases << " biases " << looked_at);
      const std::vector<float> deferred = run(biases, looked_at);
      const EagerGuard eager;
      const std::vector<float> expected = run(biases, looked_at);
      ASSERT_EQ(deferred.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        // Single-precision against double-precision sums of values up to 20.
        EXPECT_NEAR(deferred[i], expected[i], 3e-5) << i;
      }
    }
  }
}

// Windows that skip the last row, or rows in between.
TEST(Deferred, StoresRowsOutsideAllWindows) {
  Rng rng(3);
  Tensor a({3, 8, 6, 5}), b({3, 8, 6, 5}), w({1, 1, 5, 4});
  for (Tensor* t : {&a, &b, &w}) rng.fill_normal(*t, 0, 1);
  Tensor expected;
  {
    const EagerGuard eager;
    expected = relu(add(Variable(a), Variable(b))).value();
  }
  for (const bool recorded : {false, true}) {
    for (const int64_t images : {1, 3}) {
      const Variable x = relu(add(Variable(a.slice(0, images), recorded),
                                  Variable(b.slice(0, images), recorded)));
      (void)conv2d(x, Variable(w), {.strides{3, 2}}).value();
      const Tensor half = expected.slice(0, images);
      EXPECT_EQ(std::memcmp(x.value().raw(), half.raw(),
                            static_cast<size_t>(half.bytes())),
                0)
          << images;
    }
  }
}

// Few images: bands of rows on all threads, with halos, strides and dilation.
TEST(Deferred, BandsOfRowsMatchWholeImagesBitwise) {
  Rng rng(4);
  const int threads = num_threads();
  for (const int64_t groups : {1, 6}) {
    Tensor a({1, 13, 7, 6}), b({1, 13, 7, 6}), w({3, 2, 6 / groups, 6});
    for (Tensor* t : {&a, &b, &w}) rng.fill_normal(*t, 0, 1);
    const QuantParams qparams{.scale = Tensor::scalar(0.02f)};
    for (const WindowOptions& o :
         {WindowOptions{}, WindowOptions{.strides{2, 1}, .pads{3, 2, 1, 0}},
          WindowOptions{.dilation{4, 2}, .pads{0, 9, 1, 1}}}) {
      for (const bool codes : {false, true}) {
        const auto run = [&](int count) {
          set_num_threads(count);
          const NoGradGuard no_grad;
          Variable x = relu(add(Variable(a), Variable(b)));
          Variable k(w);
          if (codes) {
            x = fake_quantize(x, qparams);
            k = fake_quantize(k, qparams);
          }
          const Tensor y = conv2d(x, k, o, groups).value();
          EXPECT_TRUE(!x.value().empty());
          return y;
        };
        const Tensor one = run(1);
        for (const int count : {2, 3, 16}) {
          const Tensor many = run(count);
          EXPECT_EQ(std::memcmp(one.raw(), many.raw(),
                                static_cast<size_t>(one.bytes())),
                    0)
              << count << " threads, groups " << groups << ", codes " << codes;
        }
      }
    }
  }
  set_num_threads(threads);
}

// A machine with only the baseline has nothing to compare.
TEST(Kernels, AreBitIdenticalExceptForTheBaseline) {
  const std::vector<Isa> isas = supported_isas();
  const Isa before = active_isa();
  for (size_t i = 2; i < isas.size(); ++i) {
    for (const int64_t channels : {1, 2, 4, 8, 16, 17, 32, 48}) {
      set_active_isa(isas[1]);
      const Result narrow = step(true, channels);
      set_active_isa(isas[i]);
      EXPECT_TRUE(same_bits(narrow, step(true, channels)))
          << to_string(isas[i]) << ", " << channels;
    }
  }
  set_active_isa(before);
}

}  // namespace
}  // namespace octet
