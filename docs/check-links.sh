#!/usr/bin/env bash
# Every relative link in a Markdown page must lead to a file of the repository. Prints the broken ones; exit code 1 if any.
set -euo pipefail
cd "$(dirname "$0")/.."

pages=$(git ls-files --cached --others --exclude-standard '*.md' 2>/dev/null || find . -name '*.md' -not -path './target/*' -not -path './.venv/*')
broken=0 links=0
while IFS= read -r page; do
  [ -f "$page" ] || continue
  # Code blocks hold examples, not links.
  while IFS= read -r target; do
    case "$target" in http://* | https://* | mailto:* | '#'*) continue ;; esac
    links=$((links + 1))
    file=$(dirname "$page")/${target%%#*}
    if [ ! -e "$file" ]; then
      echo "$page: broken link $target"
      broken=$((broken + 1))
    fi
  done < <(awk '/^ *```/ { code = !code; next } !code' "$page" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\((.*)\)$/\1/' || true)
done <<<"$pages"
echo "links: $links checked, $broken broken"
[ "$broken" -eq 0 ]
