import { CLI_CHECKS } from './cli-checks.ts'
import type { TableCheck } from './compare-table.ts'
import { ERROR_CHECKS } from './error-checks.ts'
import { EVENT_CHECKS } from './event-checks.ts'
import { FIGURE_CHECKS } from './figure-checks.ts'
import { HTTP_CHECKS } from './http-checks.ts'

/** What every table of the docs that tells facts of the code must contain. */
export const CHECKS: readonly TableCheck[] = [
  ...CLI_CHECKS,
  ...ERROR_CHECKS,
  ...EVENT_CHECKS,
  ...FIGURE_CHECKS,
  ...HTTP_CHECKS,
]
