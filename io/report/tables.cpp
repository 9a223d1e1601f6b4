#include "tables.h"

#include <fmt/format.h>

#include "drawing/markup.h"

namespace octet::io {

std::string cell(std::string_view text) {
  return fmt::format("<td>{}</td>", markup_text(text));
}

std::string number(std::string_view text) {
  return fmt::format("<td class=\"n\">{}</td>", markup_text(text));
}

std::string table(const std::vector<std::string_view>& heading,
                  const std::string& rows) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string_view name : heading) {
    const bool numbers = name.starts_with('#');
    html += fmt::format(
        "<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
        numbers ? " class=\"n\"" : "",
        markup_text(name.substr(numbers ? 1 : 0)));
  }
  return html + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string details(std::string_view summary, const std::string& html,
                    bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n",
                     open ? " open" : "", markup_text(summary), html);
}

std::string small_percent(double share) {
  if (share == 0) return "0 %";
  if (share > 0 && share < 5e-7) return "< 0.0001 %";
  return fmt::format("{:.4f} %", 100 * share);
}

}  // namespace octet::io
