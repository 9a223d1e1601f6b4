#include "tables.h"

#include <fmt/format.h>

#include "drawing/markup.h"

namespace octet::io {

std::string cell(std::string_view text) {
  return fmt::format("<td>{}</td>", markup_text(text));
}

std::string number(std::string_view text) {
  return fmt::format("<td class=\"n\">{}</td>", text);
}

std::string table(const std::vector<std::string_view>& heading,
                  const std::string& rows) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string_view name : heading) {
    const bool numbers = name.starts_with('#');
    html += fmt::format("<th scope=\"col\"{}>{}</th>",
                        numbers ? " class=\"n\"" : "",
                        markup_text(name.substr(numbers ? 1 : 0)));
  }
  return html + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

}  // namespace octet::io
