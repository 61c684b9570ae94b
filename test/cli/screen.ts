/** What a terminal shows after this output, line by line, with the sequences that `watch` uses. Lines do not wrap. */
export function screenOf(output: string, columns: number, rows: number): string[] {
  const blank = () => Array.from({ length: columns }, () => ' ')
  const grid = Array.from({ length: rows }, blank)
  let row = 0
  let column = 0
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is controlled by them
  for (const [token] of output.matchAll(/\x1b\[[?\d;]*[A-Za-z]|./gsu)) {
    const line = grid[row] ?? []
    if (token === '\x1b[H') [row, column] = [0, 0]
    else if (token === '\x1b[K') line.fill(' ', column)
    else if (token === '\x1b[J') {
      line.fill(' ', column)
      for (const below of grid.slice(row + 1)) below.fill(' ')
    } else if (token === '\r') column = 0
    else if (token === '\n' && row === rows - 1) grid.push(...grid.splice(0, 1).map(blank))
    else if (token === '\n') row++
    else if (!token.startsWith('\x1b')) {
      line[column] = token
      // Without line wrapping, the cursor stays on the last character of a full line.
      column = Math.min(columns - 1, column + 1)
    }
  }
  return grid.map((line) => line.join('').trimEnd())
}
