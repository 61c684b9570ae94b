/** Texts under keys, each at a revision: all that contents, audit trail and secrets need of NATS or etcd. */

import type { LeaseError } from '../base/errors.ts'
import { Calls } from '../stores/local/calls.ts'
import { encodeName } from '../stores/nats/names.ts'
import type { SecretStore } from './secrets.ts'

/** A key consists of a kind and encoded names, with points between them. */
export interface KeyValues {
  /** The name of the backend in messages. */
  readonly backend: string
  readonly explain: (error: unknown) => LeaseError
  get(key: string): Promise<StoredText | null>
  /** Resolves with its revision, which is higher than that of every earlier write of any key. */
  put(key: string, text: string): Promise<number>
  /**
   * Writes if the key is at this revision (`null`: has no value), and resolves with whether it did. A client that
   * repeats a request by itself may say no although the first request wrote.
   */
  compareAndPut(key: string, text: string, expected: number | null): Promise<boolean>
  /** Deletes what was written up to this revision. A later text stays. */
  remove(key: string, revision: number): Promise<void>
  /** All keys of a kind, in any order. With `'keys'`, the texts may be empty. */
  list(kind: string, what: 'texts' | 'keys', stop: AbortSignal): AsyncIterable<ListedText>
}

export interface StoredText {
  readonly text: string
  readonly revision: number
}

export interface ListedText extends StoredText {
  readonly key: string
}

export function callsOf({ backend, explain }: KeyValues): Calls {
  return new Calls({ backend, explain })
}

export function keyValueSecrets(values: KeyValues): SecretStore {
  const calls = callsOf(values)
  return {
    keep: (name, secret) =>
      calls.run(async () => {
        const key = `secret.${encodeName(name)}`
        await values.compareAndPut(key, secret, null)
        return (await values.get(key))?.text ?? ''
      }),
  }
}
