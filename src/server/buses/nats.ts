import { expectOptions, expectText } from '../../base/arguments.ts'
import { expectNatsConnection, type NatsConnection } from '../../clients/nats.ts'
import { natsError } from '../../clients/nats-errors.ts'
import type { Bus } from '../bus.ts'
import { createBus } from './create-bus.ts'
import { NATS_SUBJECT, type NatsBusOptions } from './options.ts'

/**
 * A bus on a subject of NATS. It uses your connection and leaves it open. The connection must not be `noEcho`.
 *
 * @example
 * const bus = natsBus(await connect({ servers: 'nats://localhost:4222' }))
 */
export function natsBus(connection: NatsConnection, options: NatsBusOptions = {}): Bus & AsyncDisposable {
  expectNatsConnection('connection', connection)
  expectOptions(options, { subject: 1 })
  const { subject = NATS_SUBJECT } = options
  expectText('subject', subject)

  return createBus({ name: 'NATS', explain: natsError }, ({ calls, received }) => {
    let subscription: { unsubscribe(): void } | undefined
    return {
      send: (text) =>
        calls.run(async () => {
          connection.publish(subject, text)
          await connection.flush()
        }),
      listen: () =>
        calls.run(async () => {
          // After a lost connection, the client itself subscribes again.
          subscription ??= connection.subscribe(subject, {
            callback(error, message) {
              if (!error) received(message.string())
            },
          })
          await connection.flush()
        }),
      unlisten() {
        subscription?.unsubscribe()
        subscription = undefined
      },
    }
  })
}
