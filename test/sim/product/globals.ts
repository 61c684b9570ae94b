import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { SimProcess } from '../process.ts'
import type { Globals } from '../program.ts'

/** What every process finds: its own time, chance and secrets. Nothing of it is done by other threads. */
export function processGlobals(process: SimProcess): Globals {
  const now = () => process.now()
  class ProcessDate extends Date {
    constructor(...given: [] | [string | number | Date]) {
      super(given.length === 0 ? now() : (given[0] as string))
    }
    static override now(): number {
      return now()
    }
  }
  const timers = new Map<number, () => void>()
  let latest = 0
  const setTimer = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const id = ++latest
    const fire = () => {
      timers.delete(id)
      run(...args)
    }
    timers.set(id, process.setTimer(fire, ms))
    return id
  }
  const clearTimer = (id: number) => {
    timers.get(id)?.()
    timers.delete(id)
  }
  return {
    Date: ProcessDate,
    Math: Object.assign(Object.create(Math), { random: () => process.random() }),
    performance: { now: () => process.monotonic() },
    setTimeout: setTimer,
    clearTimeout: clearTimer,
    crypto: cryptoOf(process),
    Headers: PlainHeaders,
    Request: PlainRequest,
    Response: PlainResponse,
    console: { log() {}, info() {}, warn() {}, error() {} },
  }
}

/** The parts of `crypto` that the product uses. The real one answers from a pool of threads, in any order. */
function cryptoOf({ random }: SimProcess) {
  const word = () => Math.floor(random() * 2 ** 32)
  const hex = (length: number) =>
    Math.floor(random() * 16 ** Math.min(length, 12))
      .toString(16)
      .padStart(length, '0')
  const bytesOf = (data: Buffer) => data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength)
  const sign = (secret: Uint8Array, data: Uint8Array) => createHmac('sha256', secret).update(data).digest()
  return {
    randomUUID: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    getRandomValues<A extends Uint32Array | Uint8Array>(array: A): A {
      for (let at = 0; at < array.length; at++) array[at] = word()
      return array
    },
    subtle: {
      importKey: async (_format: string, secret: Uint8Array) => secret,
      sign: async (_how: string, secret: Uint8Array, data: Uint8Array) => bytesOf(sign(secret, data)),
      verify: async (_how: string, secret: Uint8Array, signature: Uint8Array, data: Uint8Array) =>
        timingSafeEqual(sign(secret, data), signature),
      digest: async (_how: string, data: Uint8Array) => bytesOf(createHash('sha256').update(data).digest()),
    },
  }
}

/** As much of `Headers` as the product reads. The real ones take half of the time of a run. */
export class PlainHeaders {
  readonly #values: ReadonlyMap<string, string>

  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.#values = new Map(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    )
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }
}

/** As much of `Request` as the product makes and reads. */
export class PlainRequest {
  readonly url: string
  readonly method: string
  readonly headers: PlainHeaders
  readonly #body: string

  constructor(
    url: string,
    { method = 'GET', headers, body = '' }: { method?: string; headers?: PlainHeaders; body?: string } = {},
  ) {
    this.url = url
    this.method = method
    this.headers = headers ?? new PlainHeaders()
    this.#body = body
  }

  get body(): readonly Uint8Array[] {
    return [new TextEncoder().encode(this.#body)]
  }

  async text(): Promise<string> {
    return this.#body
  }

  async json(): Promise<unknown> {
    return JSON.parse(this.#body)
  }
}

/** As much of `Response` as the product makes. */
export class PlainResponse {
  readonly status: number
  readonly headers: PlainHeaders
  readonly #text: string

  static json(value: unknown, init?: { status?: number; headers?: Record<string, string> }): PlainResponse {
    return new PlainResponse(JSON.stringify(value), init)
  }

  constructor(
    text: string | null,
    { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    this.#text = text ?? ''
    this.status = status
    this.headers = new PlainHeaders(headers)
  }

  async text(): Promise<string> {
    return this.#text
  }
}
