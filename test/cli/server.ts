import { expect } from 'vitest'
import { Holdfast } from './holdfast.ts'

export const TOKEN = 'a-token-of-a-worker'

export interface RunningServer {
  readonly server: Holdfast
  readonly url: string
  /** Its address for `--store` of other commands, with the token that it requires. */
  readonly store: string
}

/** Starts `holdfast serve` on a free port. Resolves when it listens. Its other lines may arrive later. */
export async function startServe(store: string, ...flags: readonly string[]): Promise<RunningServer> {
  const server = new Holdfast(['serve', '--port', '0', '--store', store, '--lease-tokens', TOKEN, ...flags])
  const address = () => /listening on (http:\S+?),/.exec(server.stderr)?.[1]
  await expect.poll(address).toBeDefined()
  const url = address() ?? ''
  return { server, url, store: url.replace('://', `://${TOKEN}@`) }
}
