import { parseDuration } from '../../../src/base/duration.ts'
import { reading } from '../target.ts'

export const durations = reading(
  ['500ms', '30s', '1.5m', '2h', '30d', '250', ' 5s ', '1.001s'],
  (text) => parseDuration(text),
  (ms) => {
    if (!(ms >= 0) || (ms !== Infinity && !Number.isInteger(ms))) throw new Error(`${ms} is no duration`)
    // A larger number is written with an exponent.
    if (ms < 1e21 && parseDuration(`${ms}`) !== ms) throw new Error(`${ms} does not come back`)
  },
)
