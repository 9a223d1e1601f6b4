#include "ptq/second_order.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

namespace octet::quant {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double nearest_code(double x, CodeRange range) {
  return std::clamp(std::nearbyint(x), double(range.low), double(range.high));
}

// Depth-first search for the quantized values of a column, along the rows of
// R (R^T R = H) from last to first. Candidates are tried by their distance from
// the value that best compensates the error so far.
class NearestPoint {
 public:
  NearestPoint(const MatrixXd& R, const VectorXd& w, const VectorXd& scale,
               CodeRange range, int64_t tries)
      : R_(R), w_(w), scale_(scale), range_(range), tries_(tries) {
    error_ = VectorXd::Zero(w.size());
    code_ = VectorXd::Zero(w.size());
  }
  VectorXd find() {
    descend(w_.size() - 1, 0);
    return best_;
  }

 private:
  void descend(Index k, double cost) {
    if (k < 0) {
      least_ = cost;
      best_ = code_;
      return;
    }
    const Index behind = w_.size() - 1 - k;
    const double carried =
        R_.row(k).tail(behind).dot(error_.tail(behind)) / R_(k, k);
    const double wanted = (w_[k] + carried) / scale_[k];
    const bool pruned = w_[k] == 0;
    double code = pruned ? 0 : nearest_code(wanted, range_);
    double up = code + 1;
    double down = code - 1;
    while (true) {
      error_[k] = w_[k] - scale_[k] * code;
      const double r = R_(k, k) * (error_[k] + carried);
      const double next = cost + r * r;
      // All remaining candidates are further away.
      if (next >= least_) return;
      code_[k] = code;
      descend(k - 1, next);
      if (--tries_ < 0 || pruned) return;
      const bool can_up = up <= range_.high;
      const bool can_down = down >= range_.low;
      if (!can_up && !can_down) return;
      if (can_up && (!can_down || up - wanted <= wanted - down)) {
        code = up++;
      } else {
        code = down--;
      }
    }
  }

  const MatrixXd& R_;
  const VectorXd& w_;
  const VectorXd& scale_;
  CodeRange range_;
  int64_t tries_;
  VectorXd error_, code_, best_;
  double least_ = std::numeric_limits<double>::infinity();
};

double form(const MatrixXd& H, const VectorXd& e) { return e.dot(H * e); }

// Changes single quantized values by a step while the error decreases.
void polish(const MatrixXd& H, const VectorXd& w, const VectorXd& scales,
            CodeRange range, VectorXd& code) {
  VectorXd gradient = H * (w - scales.cwiseProduct(code));
  for (int pass = 0; pass < 20; ++pass) {
    bool changed = false;
    for (Index k = 0; k < w.size(); ++k) {
      if (!(H(k, k) > 0) || w[k] == 0) continue;
      const double scale = scales[k];
      const double to =
          nearest_code(code[k] + gradient[k] / (H(k, k) * scale), range);
      const double step = (to - code[k]) * scale;
      // Change of the error: step^2 H_kk - 2 step gradient_k.
      const double gain = step * (2 * gradient[k] - step * H(k, k));
      if (!(gain > 1e-12 * H(k, k) * scale * scale)) continue;
      gradient -= step * H.col(k);
      code[k] = to;
      changed = true;
    }
    if (!changed) return;
  }
}

}  // namespace

MatrixXd round_second_order(const MatrixXd& H, const MatrixXd& weights,
                            const MatrixXd& scales, CodeRange range,
                            double damping, int64_t tries) {
  const Index size = H.rows();
  if (!H.allFinite()) {
    throw ValueError(
        "not_finite", "second-order rounding",
        "second moments of the layer's inputs have NaN or infinity");
  }
  // The most significant inputs are rounded first; later ones can compensate.
  std::vector<Index> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](Index k) { return H(k, k); });
  MatrixXd sorted(size, size);
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < size; ++j) {
      sorted(i, j) =
          H(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
    }
  }
  const double mean = sorted.trace() / static_cast<double>(size);
  // For all-zero inputs any value will do.
  const double added = mean > 0 ? damping * mean : 1.0;
  sorted.diagonal().array() += added;
  const Eigen::LLT<MatrixXd> cholesky(sorted);
  if (cholesky.info() != Eigen::Success) {
    throw ValueError("invalid_value", "second-order rounding",
                     "second moments are not positive definite. Hint: more "
                     "samples, or a larger damping");
  }
  const MatrixXd R = cholesky.matrixU();
  MatrixXd codes(size, weights.cols());
  parallel_for(weights.cols(), [&](int64_t m) {
    const VectorXd w = weights.col(m);
    const VectorXd scale = scales.col(m);
    VectorXd nearest(size);
    VectorXd w_sorted(size), scale_sorted(size);
    for (Index k = 0; k < size; ++k) {
      nearest[k] = nearest_code(w[k] / scale[k], range);
      w_sorted[k] = w[order[static_cast<size_t>(k)]];
      scale_sorted[k] = scale[order[static_cast<size_t>(k)]];
    }
    const VectorXd found =
        NearestPoint(R, w_sorted, scale_sorted, range, tries).find();
    const auto error_of = [&](const VectorXd& q) {
      return form(H, w - scale.cwiseProduct(q));
    };
    VectorXd code(size);
    for (Index k = 0; k < size; ++k) {
      code[order[static_cast<size_t>(k)]] = found[k];
    }
    polish(H, w, scale, range, code);
    VectorXd other = nearest;
    polish(H, w, scale, range, other);
    if (error_of(other) < error_of(code)) code = other;
    if (error_of(nearest) < error_of(code)) code = nearest;
    codes.col(m) = code;
  });
  return codes;
}

std::vector<double> output_errors(const MatrixXd& H, const MatrixXd& weights,
                                  const MatrixXd& scales,
                                  const MatrixXd& codes) {
  std::vector<double> result;
  for (Index m = 0; m < weights.cols(); ++m) {
    const VectorXd e =
        weights.col(m) - scales.col(m).cwiseProduct(codes.col(m));
    result.push_back(form(H, e));
  }
  return result;
}

}  // namespace octet::quant
