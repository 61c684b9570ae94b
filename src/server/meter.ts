import type { Transition } from './lease-feed.ts'

/** Where figures go. `holdfast/server/node` has one for Prometheus. */
export interface Meter {
  request(route: string, method: string, status: number, seconds: number): void
  transition(transition: Transition): void
  /** What is so at the moment, asked for when somebody looks. */
  observe(read: () => Present): void
  /** All of it as text, for `GET /metrics`. */
  text(): Promise<{ readonly body: string; readonly contentType: string }>
}

export interface Present {
  readonly locks: number
  readonly waiters: number
  readonly sockets: number
}
