import { vi } from 'vitest'

/** A `BroadcastChannel` whose tab can be frozen: it then answers nothing, and hears everything when it thaws. */
export class FakeChannel {
  static readonly open = new Set<FakeChannel>()
  /** Postpones a delivery; by default it is only asynchronous. */
  static deliver: (deliver: () => void) => void = queueMicrotask
  readonly name: string
  onmessage: (event: { data: unknown }) => void = () => {}
  #unheard: unknown[] | null = null

  constructor(name: string) {
    this.name = name
    FakeChannel.open.add(this)
  }

  postMessage(data: unknown): void {
    for (const other of FakeChannel.open)
      if (other !== this && other.name === this.name) FakeChannel.deliver(() => other.#hear(data))
  }

  freeze(): void {
    this.#unheard = []
  }

  thaw(): void {
    const unheard = this.#unheard ?? []
    this.#unheard = null
    for (const data of unheard) this.#hear(data)
  }

  close(): void {
    FakeChannel.open.delete(this)
  }

  #hear(data: unknown): void {
    if (this.#unheard) this.#unheard.push(data)
    else if (FakeChannel.open.has(this)) this.onmessage({ data })
  }
}

/** Until the globals are restored. */
export function useFakeChannels(): void {
  FakeChannel.open.clear()
  FakeChannel.deliver = queueMicrotask
  vi.stubGlobal('BroadcastChannel', FakeChannel)
}
