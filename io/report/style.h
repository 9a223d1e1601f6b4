// Style sheet of a report. Internal to io.
#pragma once

#include <string_view>

namespace octet::io {

inline constexpr std::string_view kReportStyle = R"(
:root{color-scheme:light dark;--page:#fff;--card:#f6f8fa;--text:#1b1f24;--quiet:#57606a;--line:#d0d7de;--blue:#1668c7;--green:#2c8a57;--amber:#9a6700;--red:#cf222e;--fill:#9cc3ee}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--card:#1a2029;--text:#e6edf3;--quiet:#9aa5b1;--line:#333c48;--blue:#58a6ff;--green:#3fb27a;--amber:#d9a441;--red:#ff7b72;--fill:#2d5f97}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:19px;margin:40px 0 10px;padding-top:12px;border-top:1px solid var(--line)}
p{margin:8px 0;overflow-wrap:anywhere}
.quiet{color:var(--quiet)}
nav{display:flex;flex-wrap:wrap;gap:4px 14px;margin:14px 0}
a{color:var(--blue)}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,210px),1fr));gap:12px;margin:16px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;overflow-wrap:anywhere}
.tile b{display:block;font-size:21px;line-height:1.3;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
th,td{text-align:left;padding:4px 10px;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--quiet);font-weight:600;white-space:nowrap}
td.n,th.n{text-align:right;white-space:nowrap}
.facts th{white-space:nowrap;color:var(--quiet);font-weight:500}
.facts td{overflow-wrap:anywhere}
.facts{width:100%}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.bar{display:inline-block;width:120px;height:10px;background:var(--card);border-radius:3px;overflow:hidden;vertical-align:middle}
.bar>span{display:block;height:100%;background:var(--blue)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:16px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px}
figcaption{font-size:13px;overflow-wrap:anywhere}
.chart{display:block;width:100%;height:auto;margin-top:6px}
.chart text{font-size:11px;fill:var(--quiet)}
.chart .fill{fill:var(--fill)}
.chart .beyond{fill:var(--red);opacity:.12}
.chart .clip{stroke:var(--red);stroke-width:1.5;stroke-dasharray:4 3;fill:none}
.chart .axis{stroke:var(--line);fill:none}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.line0{stroke:var(--blue)}.line1{stroke:var(--amber)}.line2{stroke:var(--green)}.line3{stroke:var(--red)}
.key{display:inline-block;width:14px;height:4px;border-radius:2px;vertical-align:middle;margin:0 4px 0 8px}
.key0{background:var(--blue)}.key1{background:var(--amber)}.key2{background:var(--green)}.key3{background:var(--red)}
.confusion td{text-align:right;white-space:nowrap;border:1px solid var(--line);min-width:44px}
.confusion th{border:1px solid var(--line)}
.badge{display:inline-block;border-radius:10px;padding:0 8px;font-size:12px;border:1px solid currentColor;white-space:nowrap}
.error{color:var(--red)}.warning{color:var(--amber)}.info{color:var(--blue)}
details{margin:10px 0}
summary{cursor:pointer;color:var(--blue)}
.graph{border:1px solid var(--line);border-radius:8px;max-height:80vh;overflow:auto;margin-top:8px}
.graph svg{display:block;margin:0 auto}
@media (max-width:600px){th,td{padding:4px 6px}table{font-size:13px}.bar{width:64px}}
@media print{.graph{max-height:none}}
)";

}  // namespace octet::io
