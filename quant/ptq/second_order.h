// Second-order rounding: quantizes a weight vector with the least error in a
// layer's output, given the second moments of its inputs.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace octet::quant {

struct CodeRange {
  int low;
  int high;
};

/// Rounds the columns of weights [k, m] to quantized values q with a small
/// error (w - s*q)^T H (w - s*q), where H [k,k] is the sum of x x^T over the
/// input rows x. Each column is a nearest-lattice-point search. The first
/// candidate is GPTQ's, which rounds weights in sequence and compensates the
/// error in later ones. Further candidates follow, best first, up to `tries`
/// visited weights (exhaustive for small k), then changes of single values. No
/// column is worse than nearest rounding. The factored matrix is H plus
/// `damping` times the mean of its diagonal; errors are measured with H.
/// Throws: ValueError for NaN or infinity in H.
/// Shapes: H [k,k] symmetric, weights and their scales [k,m] -> q
/// [k,m].
/// Source: Frantar et al., "GPTQ", arXiv 2210.17323; lattice formulation: Chen
/// et al., "The geometry of LLM quantization", arXiv 2507.18553; search:
/// Schnorr and Euchner, Mathematical Programming 66 (1994).
Eigen::MatrixXd round_second_order(const Eigen::MatrixXd& H,
                                   const Eigen::MatrixXd& weights,
                                   const Eigen::MatrixXd& scales,
                                   CodeRange range, double damping = 0.01,
                                   int64_t tries = 20000);

/// Returns (w - s*q)^T H (w - s*q) of each column.
/// Shapes: as above -> [m].
std::vector<double> output_errors(const Eigen::MatrixXd& H,
                                  const Eigen::MatrixXd& weights,
                                  const Eigen::MatrixXd& scales,
                                  const Eigen::MatrixXd& codes);

}  // namespace octet::quant
