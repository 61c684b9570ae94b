/**
 * Loaded before every program of the docs, which print the ports that a reader has. A server that listens on a fixed
 * port gets a free one, and connections to a port of this machine go to where it is served now. The directory
 * `HOLDFAST_DOCS_PORTS` has a file for each such port, with the real port as its text.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Server, Socket } from 'node:net'
import { join } from 'node:path'

const directory = process.env.HOLDFAST_DOCS_PORTS
/** A developer may have servers with real data on these, so they are never reached. */
const USUAL_PORTS = [2379, 3306, 4222, 4321, 5173, 5432, 6379, 6432, 8080]
const LOCAL_HOSTS = [undefined, 'localhost', '127.0.0.1', '::1']

const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  const options = typeof args[0] === 'object' ? args[0] : { port: args[0] }
  const printed = Number(options?.port)
  if (!printed) return listen.apply(this, args)
  this.once('listening', () => {
    const file = join(directory, String(printed))
    // Others read the file as soon as it is there, so it must not be empty for a moment.
    writeFileSync(`${file}.new`, String(this.address().port))
    renameSync(`${file}.new`, file)
  })
  const [, host] = typeof args[0] === 'object' ? [null, options.host] : args
  const callback = args.findLast((arg) => typeof arg === 'function')
  const bound = host === 'localhost' ? '127.0.0.1' : host
  return listen.call(
    this,
    { ...options, port: 0, ...(typeof bound === 'string' && { host: bound }) },
    callback,
  )
}

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  const [first] = args
  // Inside of Node the arguments come as an array: the options and the callback.
  if (Array.isArray(first)) first[0] = redirected(first[0])
  else if (typeof first === 'object') args[0] = redirected(first)
  else if (Number(first)) {
    const host = typeof args[1] === 'string' ? args[1] : undefined
    const target = redirected({ port: first, host })
    if (target.port !== first)
      return connect.call(
        this,
        target,
        args.findLast((arg) => typeof arg === 'function'),
      )
  }
  return connect.apply(this, args)
}

function redirected(options) {
  const { port, host, path } = options
  if (path || !port || !LOCAL_HOSTS.includes(host)) return options
  const file = join(directory, String(port))
  if (existsSync(file)) return { ...options, port: Number(readFileSync(file, 'utf8')), host: '127.0.0.1' }
  if (!USUAL_PORTS.includes(Number(port))) return options
  throw new Error(
    `no test server for port ${port}: test/docs/servers.ts starts those that it finds in the text`,
  )
}
