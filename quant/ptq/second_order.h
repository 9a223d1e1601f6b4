// Second-order rounding: codes of a weight vector that give the least error in
// a layer's output, by the second moments of its inputs.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

namespace octet::quant {

struct CodeRange {
  int low;
  int high;
};

/// Rounds the columns of weights [k, m] to codes such that
/// (w - s*q)^T H (w - s*q) is small, H [k,k] being the sum of x x^T over the
/// rows x that the weights are multiplied with. Each column is the search for a
/// nearest lattice point: its first answer is that of GPTQ, which rounds one
/// weight after another and lets those to come make up for the error; then
/// other answers are tried, best first, up to `tries` weights, all of them for
/// small k; then single codes are changed while that helps. Where nearest
/// rounding is better after all, it is taken: no column is worse than it.
/// H with `damping` times the mean of its diagonal added is what is factored;
/// H itself judges. Throws: ValueError for NaN or infinity in H.
/// Shapes: H [k,k] symmetric, weights [k,m], scales [m] -> codes [k,m].
/// Source: Frantar et al., "GPTQ", arXiv 2210.17323; as a lattice problem: Chen
/// et al., "The geometry of LLM quantization", arXiv 2507.18553; the search:
/// Schnorr and Euchner, Mathematical Programming 66 (1994).
Eigen::MatrixXd round_second_order(const Eigen::MatrixXd& H,
                                   const Eigen::MatrixXd& weights,
                                   std::span<const double> scales,
                                   CodeRange range, double damping = 0.01,
                                   int64_t tries = 20000);

/// (w - s*q)^T H (w - s*q) of each column. Shapes: as above -> [m].
std::vector<double> output_errors(const Eigen::MatrixXd& H,
                                  const Eigen::MatrixXd& weights,
                                  std::span<const double> scales,
                                  const Eigen::MatrixXd& codes);

}  // namespace octet::quant
