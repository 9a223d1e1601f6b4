#include "recipe_options.h"

namespace octet::program {

std::vector<Option> add_recipe_switches(Command& command, RecipeSwitches& o) {
  command.begin_group("Post-training methods");
  std::vector<Option> all = {
      command.add_flag(
          "--equalize", o.equalize,
          "fold batch normalization and equalize channel ranges across layers "
          "first (default: tried if the output SQNR is below 30 dB, and used "
          "if that gains 3 dB)"),
      command.add_flag("--no-equalize", o.no_equalize,
                       "never equalize channel ranges"),
      command.add_flag("--bias-correction", o.bias_correction,
                       "correct the mean error of each output in the biases"),
      command.add_flag(
          "--second-order", o.second_order,
          "round weights by the second-order error of the outputs (GPTQ)"),
      command.add_flag("--adaround", o.adaround,
                       "learn the rounding of weights layer by layer "
                       "(AdaRound)"),
      command.add_flag("--reconstruct", o.reconstruct,
                       "learn the rounding of weights block by block (BRECQ)")};
  all[0].excludes(all[1]);
  all[3].excludes(all[4]).excludes(all[5]);
  all[4].excludes(all[5]);
  return all;
}

quant::Recipe recipe_of(const RecipeSwitches& o,
                        const CalibrationChoice& calibration) {
  using quant::WeightRounding;
  quant::Recipe recipe = recipe_of(calibration);
  recipe.equalize = o.equalize;
  recipe.correct_biases = o.bias_correction;
  recipe.rounding = o.second_order  ? WeightRounding::second_order
                    : o.adaround    ? WeightRounding::adaround
                    : o.reconstruct ? WeightRounding::blocks
                                    : WeightRounding::nearest;
  return recipe;
}

}  // namespace octet::program
