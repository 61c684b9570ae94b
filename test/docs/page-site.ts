import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import type { BuiltFiles } from './bundle-page.ts'

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
}

/** A web server for the page that is shown at the moment. */
export class PageSite implements AsyncDisposable {
  files: BuiltFiles = new Map()
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url?.replace(/^\/|\?.*$/g, '') || 'index.html'
      const content = this.files.get(path)
      response.writeHead(content === undefined ? 404 : 200, {
        'content-type': TYPES[extname(path)] ?? 'text/plain',
      })
      response.end(content)
    })
  }

  static async open(): Promise<PageSite> {
    const site = new PageSite()
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve))
    return site
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
