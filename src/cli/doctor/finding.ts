export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failure'
  readonly text: string
  /** What to do, where something is wrong. */
  readonly remedy?: string
}

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

export function warning(check: string, text: string, remedy: string): Finding {
  return { check, state: 'warning', text, remedy }
}

export function failure(check: string, text: string, remedy: string): Finding {
  return { check, state: 'failure', text, remedy }
}
