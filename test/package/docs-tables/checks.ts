import { BACKEND_CHECKS } from './backend-checks.ts'
import { CLI_CHECKS } from './cli-checks.ts'
import type { TableCheck } from './compare-table.ts'
import { DEFAULT_CHECKS } from './default-checks.ts'
import { ERROR_CHECKS } from './error-checks.ts'
import { EVENT_CHECKS } from './event-checks.ts'
import { FIGURE_CHECKS } from './figure-checks.ts'
import { HTTP_CHECKS } from './http-checks.ts'
import { IDEMPOTENCY_CHECKS } from './idempotency-checks.ts'
import { NAME_CHECKS } from './name-checks.ts'
import { OPTION_CHECKS } from './option-checks.ts'
import { SECURITY_CHECKS } from './security-checks.ts'

/** What every table of the docs that tells facts of the code must contain. */
export const CHECKS: readonly TableCheck[] = [
  ...BACKEND_CHECKS,
  ...CLI_CHECKS,
  ...DEFAULT_CHECKS,
  ...ERROR_CHECKS,
  ...EVENT_CHECKS,
  ...FIGURE_CHECKS,
  ...HTTP_CHECKS,
  ...IDEMPOTENCY_CHECKS,
  ...NAME_CHECKS,
  ...OPTION_CHECKS,
  ...SECURITY_CHECKS,
]
