/** The quoted names of the tables of a store. */
export interface Tables {
  readonly leases: string
  readonly waiters: string
  readonly meta: string
  readonly changes: string
}

export function tableNames(table: string): Tables {
  return {
    leases: `"${table}"`,
    waiters: `"${table}_waiters"`,
    meta: `"${table}_meta"`,
    changes: `"${table}_changes"`,
  }
}
