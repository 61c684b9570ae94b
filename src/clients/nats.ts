import { hasMethods, refuseClient } from '../base/arguments.ts'

/** The part of a `NatsConnection` that Holdfast uses. `@nats-io/kv` uses the rest. */
export interface NatsConnection {
  isClosed(): boolean
  status(): AsyncIterable<NatsStatus>
  publish(subject: string, payload: string): void
  subscribe(subject: string, options: { callback: NatsCallback }): { unsubscribe(): void }
  flush(): Promise<void>
}

export interface NatsStatus {
  readonly type: string
  /** Of `disconnect` and `reconnect`. */
  readonly server?: string
  /** Of `error`. */
  readonly error?: unknown
}

export type NatsCallback = (error: Error | null, message: { string(): string }) => void

export function expectNatsConnection(option: string, value: unknown): asserts value is NatsConnection {
  if (!hasMethods(value, 'isClosed', 'status', 'publish', 'subscribe', 'flush'))
    refuseClient(option, 'the NatsConnection that connect() of @nats-io/transport-node resolves with', value)
}
