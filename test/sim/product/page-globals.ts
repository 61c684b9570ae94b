type Listener = (event: { readonly type: string; preventDefault(): void }) => void

interface Entry {
  readonly type: string
  readonly listener: Listener
  readonly isFirst: boolean
}

/** `document` or `window`: at the target itself, listeners of the capture phase come first. */
export class PageTarget {
  hidden = false
  readonly #listeners: Entry[] = []

  get visibilityState(): string {
    return this.hidden ? 'hidden' : 'visible'
  }

  addEventListener(
    type: string,
    listener: Listener,
    options: { capture?: boolean; signal?: AbortSignal } = {},
  ): void {
    const entry = { type, listener, isFirst: options.capture === true }
    this.#listeners.push(entry)
    options.signal?.addEventListener('abort', () => this.#remove(entry))
  }

  removeEventListener(type: string, listener: Listener): void {
    for (const entry of [...this.#listeners])
      if (entry.type === type && entry.listener === listener) this.#remove(entry)
  }

  dispatch(type: string): void {
    const heard = this.#listeners.filter((entry) => entry.type === type)
    const inOrder = heard.toSorted((a, b) => Number(b.isFirst) - Number(a.isFirst))
    for (const { listener } of inOrder) listener({ type, preventDefault() {} })
  }

  #remove(entry: Entry): void {
    const at = this.#listeners.indexOf(entry)
    if (at >= 0) this.#listeners.splice(at, 1)
  }
}

/** `localStorage`: synchronous, shared by the pages of a browser, and full at some time. */
export class PageStorage {
  /** While true, nothing more can be written. */
  static readonly #full = new WeakSet<PageStorage>()

  get isFull(): boolean {
    return PageStorage.#full.has(this)
  }

  fill(isFull: boolean): void {
    if (isFull) PageStorage.#full.add(this)
    else PageStorage.#full.delete(this)
  }

  getItem(key: string): string | null {
    return (this as unknown as Record<string, string>)[key] ?? null
  }

  setItem(key: string, value: string): void {
    if (this.isFull) throw new DOMException('the disk is full (simulated)', 'QuotaExceededError')
    Object.assign(this, { [key]: value })
  }

  removeItem(key: string): void {
    delete (this as unknown as Record<string, string>)[key]
  }
}
