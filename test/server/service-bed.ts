import { expect } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { createLockServer, type LockServer, type LockServerOptions } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { eventually } from '../eventually.ts'

export const ORIGIN = 'http://holdfast.test'
export const ADMIN_TOKEN = 'an-admin-token-of-the-tests'
export const LEASE_TOKEN = 'a-lease-token-of-the-tests'
export const SECRETS = {
  cookieSecrets: ['a-cookie-secret-of-the-tests'],
  channelSecret: 'a-channel-secret-of-the-tests',
  adminTokens: [ADMIN_TOKEN],
  leaseTokens: [LEASE_TOKEN],
}

export interface ServiceBed extends AsyncDisposable {
  readonly clock: FakeClock
  readonly store: LeaseStore
  readonly server: LockServer
  /** Another browser with its own cookies. It sends `tab` as its client id in every request. */
  browser(tab?: string): Browser
  /** A program with a token of the settings. */
  program(token: string): Browser
  /** A socket that has subscribed to a room, and the events that it received. `library`: the client that it has. */
  socket(room: string, library?: string): Heard[]
  /** The same for a private channel. */
  privateSocket(channel: string): Promise<Heard[]>
}

export interface Heard {
  readonly event: string
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

/** A service on a fake clock, which starts at noon. */
export async function serviceBed(options: Partial<LockServerOptions> = {}): Promise<ServiceBed> {
  const clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
  const store = options.store ?? memoryStore({ clock })
  const server = await createLockServer({
    log: () => {},
    ...options,
    store,
    clock,
    settings: { ...SECRETS, ...options.settings },
  })
  return {
    clock,
    store,
    server,
    browser: (tab) => new Browser(server.fetch, pageHeaders(tab)),
    program: (token) => new Browser(server.fetch, { Authorization: `Bearer ${token}` }),
    socket: (room, library) => listen(server, clock, library).subscribe(`document.${room}`),
    async privateSocket(channel) {
      const { id, subscribe } = listen(server, clock)
      const heard = subscribe(channel, await server.channels.sign(id, channel))
      await eventually(() => expect(server.channels.subscribed()).toContain(channel.replace('private-', '')))
      return heard
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** A client of the service: a browser with its cookies, or a program. */
export class Browser {
  readonly #fetch: LockServer['fetch']
  readonly #headers: Readonly<Record<string, string>>
  cookie: string | undefined

  constructor(fetch: LockServer['fetch'], headers: Readonly<Record<string, string>>) {
    this.#fetch = fetch
    this.#headers = headers
  }

  /** Another tab of the same browser. */
  tab(tab: string): Browser {
    const other = new Browser(this.#fetch, pageHeaders(tab))
    other.cookie = this.cookie
    return other
  }

  async call(method: string, path: string, body?: unknown, more: RequestInit = {}): Promise<Answer> {
    const headers = new Headers({
      Host: new URL(ORIGIN).host,
      ...this.#headers,
      ...(this.cookie !== undefined && { Cookie: this.cookie }),
    })
    for (const [name, value] of new Headers(more.headers)) headers.set(name, value)
    const request = new Request(ORIGIN + path, {
      method,
      ...more,
      headers,
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
      }),
    })
    const response = await this.#fetch(request)
    const cookie = response.headers.get('set-cookie')?.split(';')[0]
    if (cookie) this.cookie = cookie
    const text = await response.text()
    const isJson = text !== '' && response.headers.get('content-type') === 'application/json'
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
}

function pageHeaders(tab?: string): Readonly<Record<string, string>> {
  return { Origin: ORIGIN, ...(tab !== undefined && { 'X-Holdfast-Client': tab }) }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: AnswerBody
}

/** The fields that tests use by name. */
export interface AnswerBody {
  readonly error?: string
  readonly message?: string
  readonly token: number
  readonly is_locked?: boolean
  readonly expires_at: string
  readonly content?: unknown
  readonly revision?: number
  readonly entries: readonly { readonly action: string }[]
  readonly you: { readonly session_id: string; readonly client_id?: string }
}

function listen(server: LockServer, clock: FakeClock, library: string | null = null) {
  const heard: Heard[] = []
  let id = ''
  const connection = {
    send(text: string) {
      const { event, data } = JSON.parse(text)
      if (event === 'pusher:connection_established') id = JSON.parse(data).socket_id
      else if (!event.startsWith('pusher')) heard.push({ event, at: clock.now(), data: JSON.parse(data) })
    },
    close() {},
  }
  const request = { key: 'holdfast', protocol: '7', library, client: 'test' }
  const handler = server.channels.accept(connection, request)
  const subscribe = (channel: string, auth?: string) => {
    handler?.received(JSON.stringify({ event: 'pusher:subscribe', data: { channel, auth } }))
    return heard
  }
  return { id, subscribe }
}

/** The events of a room, as `document.locked 12:00:00`. */
export function story(heard: readonly Heard[]): string[] {
  return heard.map(({ event, at }) => `${event} ${new Date(at).toISOString().slice(11, 19)}`)
}
