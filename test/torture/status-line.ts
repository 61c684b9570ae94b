/** One line at the bottom of a terminal that is written again and again. Elsewhere only what is printed appears. */
export class StatusLine {
  readonly #stream: NodeJS.WriteStream

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  show(text: string): void {
    if (this.#stream.isTTY) this.#stream.write(`\r\x1b[K${text.slice(0, this.#stream.columns - 1)}`)
  }

  print(text: string): void {
    this.clear()
    this.#stream.write(`${text}\n`)
  }

  clear(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K')
  }
}
