/** What is used of the peers, which are not installed where only types are checked. */
declare module '@plasmohq/storage' {
  export class Storage {
    constructor(options: { area: 'local' })
    get(key: string): Promise<unknown>
    set(key: string, value: unknown): Promise<unknown>
    remove(key: string): Promise<unknown>
    watch(watchers: Record<string, (change: { newValue?: unknown }) => void>): boolean
  }
}

declare module '@wxt-dev/storage' {
  export const storage: {
    getItem(key: string): Promise<unknown>
    setItem(key: string, value: unknown): Promise<void>
    removeItem(key: string): Promise<void>
    watch(key: string, listener: (value: unknown) => void): () => void
  }
}
