import { alternatives, type FunctionType, OPAQUE, type Type, type Types } from './declarations/type.ts'

/** What a program did with the package. Names are those of the declarations. */
export interface Usage {
  /** Functions and methods that returned or resolved, such as `Leases.acquire`. */
  readonly calls: Set<string>
  /** Those of them that were called without their optional arguments. */
  readonly defaults: Set<string>
  /** What was passed to a call that succeeded, such as `LeaseOptions.ttl`. */
  readonly options: Set<string>
  /** Methods that an object does not have, or refused with `invalid-argument`. */
  readonly absent: Set<string>
}

// biome-ignore lint/complexity/noBannedTypes: any function of the package
type AnyFunction = Function

/**
 * Stands between a program and the package, and notes what passes, by the types of the declarations. Objects and
 * functions of the package reach the program as proxies, which are taken off when the program passes them back.
 */
export class Recorder implements Usage {
  readonly calls = new Set<string>()
  readonly defaults = new Set<string>()
  readonly options = new Set<string>()
  readonly absent = new Set<string>()
  readonly #types: Types
  readonly #proxies = new WeakMap<object, Map<Type, object>>()
  readonly #originals = new WeakMap<object, object>()
  readonly #callbacks = new WeakMap<AnyFunction, AnyFunction>()
  readonly #callable = new Map<Type, boolean>()

  constructor(types: Types) {
    this.#types = types
  }

  /** A value of the package as the program gets it. */
  give(value: unknown, type: Type): unknown {
    if (!isObject(value) || !this.#reachesFunction(type)) return value
    if (value instanceof Promise) {
      const of = this.#of(type, 'promise')
      return of ? value.then((result) => this.give(result, of)) : value
    }
    if (Array.isArray(value)) {
      const of = this.#of(type, 'list')
      // A list may have members of its own, such as `skipped` of what AutoSave recovers.
      const given =
        of && Object.entries(value).map(([key, item]) => [key, isIndex(key) ? this.give(item, of) : item])
      return given ? Object.assign([], Object.fromEntries(given)) : value
    }
    if (this.#originals.has(value)) return value
    const known = this.#proxies.get(value) ?? new Map<Type, object>()
    this.#proxies.set(value, known)
    const proxy = known.get(type) ?? this.#proxy(value, type)
    known.set(type, proxy)
    return proxy
  }

  #proxy(value: object, type: Type): object {
    const called = this.#functionsIn(type)
    if (typeof value === 'function' && called.length === 0) return value
    const proxy = typeof value === 'function' ? this.#function(value, called) : this.#object(value, type)
    this.#originals.set(proxy, value)
    return proxy
  }

  #function(original: AnyFunction, type: readonly FunctionType[]): object {
    return new Proxy(original, {
      apply: (_, receiver, args) =>
        this.#call(type, args, (taken) => Reflect.apply(original, this.#unwrap(receiver), taken)),
      construct: (_, args) => this.#call(type, args, (taken) => Reflect.construct(original, taken)) as object,
    })
  }

  /** A plain function, because `await using` of V8 refuses a method that is a proxy. */
  #method(original: AnyFunction, type: readonly FunctionType[], self: object): AnyFunction {
    return (...args: unknown[]) => this.#call(type, args, (taken) => Reflect.apply(original, self, taken))
  }

  /** The target is empty, because a proxy of a frozen object would have to return its members as they are. */
  #object(original: object, type: Type): object {
    const members = this.#membersOf(type)
    const methods = new Map<PropertyKey, unknown>()
    for (const [key, member] of members) {
      const [method] = this.#functionsIn(member)
      if (method && !(key in original)) this.#noteAbsent(method)
    }
    return new Proxy(Object.create(Object.getPrototypeOf(original)), {
      get: (_, key) => {
        const value = Reflect.get(original, key, original)
        const member = members.get(key) ?? OPAQUE
        const called = this.#functionsIn(member)
        if (typeof value !== 'function') return this.give(value, member)
        if (!methods.has(key))
          methods.set(key, called.length > 0 ? this.#method(value, called, original) : value.bind(original))
        return methods.get(key)
      },
      set: (_, key, value) => Reflect.set(original, key, value, original),
      has: (_, key) => Reflect.has(original, key),
      ownKeys: () => Reflect.ownKeys(original),
      getOwnPropertyDescriptor: (_, key) => {
        const descriptor = Reflect.getOwnPropertyDescriptor(original, key)
        return descriptor && { ...descriptor, configurable: true }
      },
    })
  }

  /** What only this method takes and returns is absent with it. */
  #noteAbsent(method: FunctionType): void {
    this.absent.add(method.name)
    for (const returned of this.#functionsIn(method.returns)) this.absent.add(returned.name)
    for (const parameter of method.parameters.slice(0, method.required))
      for (const one of alternatives(parameter, this.#types))
        if (one.kind === 'object')
          for (const key of Object.keys(one.members)) this.absent.add(`${one.name}.${key}`)
  }

  #call(
    overloads: readonly FunctionType[],
    args: readonly unknown[],
    call: (args: unknown[]) => unknown,
  ): unknown {
    const type = overloads.find((one) => this.#fits(one, args)) ?? overloads[0]
    if (!type) return call([...args])
    const passed = new Set<string>()
    const taken = args.map((arg, index) => this.#take(arg, parameterOf(type, index), passed))
    const succeeded = () => {
      this.calls.add(type.name)
      if (args.slice(type.required).every((arg) => arg === undefined)) this.defaults.add(type.name)
      for (const option of passed) this.options.add(option)
    }
    const failed = (error: unknown) => {
      if (isObject(error) && 'code' in error && error.code === 'invalid-argument') this.absent.add(type.name)
    }
    try {
      const result = call(taken)
      if (result instanceof Promise) result.then(succeeded, failed)
      else succeeded()
      return this.give(result, type.returns)
    } catch (error) {
      failed(error)
      throw error
    }
  }

  /** An argument as the package gets it. Its keys are added to `passed`. */
  #take(value: unknown, type: Type, passed: Set<string>): unknown {
    if (!isObject(value)) return value
    if (this.#originals.has(value)) return this.#unwrap(value)
    if (typeof value === 'function') return this.#takeFunction(value, type)
    if (value instanceof Promise) {
      const of = this.#of(type, 'promise') ?? OPAQUE
      return value.then((result) => this.#take(result, of, passed))
    }
    if (Array.isArray(value)) {
      const of = this.#of(type, 'list') ?? OPAQUE
      const items = value.map((item) => this.#take(item, of, passed))
      return items.every((item, index) => item === value[index]) ? value : items
    }
    if (Object.getPrototypeOf(value) !== Object.prototype) return value
    const members = this.#membersOf(type)
    const owners = alternatives(type, this.#types).filter((one) => one.kind === 'object')
    let isChanged = false
    const copied = Object.entries(value).map(([key, member]) => {
      for (const { name, members } of owners)
        if (key in members && member !== undefined) passed.add(`${name}.${key}`)
      const taken = this.#take(member, members.get(key) ?? OPAQUE, passed)
      isChanged ||= taken !== member
      return [key, taken]
    })
    // The package may change a record, such as a row, in place.
    return isChanged ? Object.fromEntries(copied) : value
  }

  #takeFunction(original: AnyFunction, type: Type): AnyFunction {
    const [called] = this.#functionsIn(type)
    if (!called || isClass(original)) return original
    const known = this.#callbacks.get(original)
    if (known) return known
    const give = (arg: unknown, index: number) => this.give(arg, parameterOf(called, index))
    const take = (result: unknown) => this.#take(result, called.returns, this.options)
    const callback = function (this: unknown, ...args: unknown[]) {
      return take(Reflect.apply(original, this, args.map(give)))
    }
    this.#callbacks.set(original, callback)
    return callback
  }

  #unwrap(value: unknown): unknown {
    return (isObject(value) && this.#originals.get(value)) || value
  }

  #of(type: Type, kind: 'promise' | 'list'): Type | undefined {
    return alternatives(type, this.#types).flatMap((one) =>
      (one.kind === 'promise' || one.kind === 'list') && one.kind === kind ? one.of : [],
    )[0]
  }

  #functionsIn(type: Type): FunctionType[] {
    return alternatives(type, this.#types).filter((one) => one.kind === 'function')
  }

  /** Whether callbacks are where this overload has callbacks. */
  #fits(type: FunctionType, args: readonly unknown[]): boolean {
    return args.every((arg, index) => {
      const isCallback = this.#functionsIn(parameterOf(type, index)).length > 0
      return (typeof arg === 'function' && !this.#originals.has(arg)) === isCallback || arg === undefined
    })
  }

  #membersOf(type: Type): Map<PropertyKey, Type> {
    const members = new Map<PropertyKey, Type>()
    for (const one of alternatives(type, this.#types))
      if (one.kind === 'object')
        for (const [key, member] of Object.entries(one.members)) members.set(symbolOf(key) ?? key, member)
    return members
  }

  /** Whether the program can get something to call out of a value of this type. Records are passed as they are. */
  #reachesFunction(type: Type): boolean {
    const known = this.#callable.get(type)
    if (known !== undefined) return known
    this.#callable.set(type, false)
    const found = alternatives(type, this.#types).some((one) => {
      if (one.kind === 'object')
        return Object.values(one.members).some((member) => this.#reachesFunction(member))
      return one.kind === 'function' || ('of' in one && this.#reachesFunction(one.of))
    })
    this.#callable.set(type, found)
    return found
  }
}

function parameterOf({ parameters, rest }: FunctionType, index: number): Type {
  const last = parameters.length - 1
  const type = parameters[rest ? Math.min(index, last) : index] ?? OPAQUE
  return rest && index >= last && type.kind === 'list' ? type.of : type
}

function isIndex(key: string): boolean {
  return /^\d+$/.test(key)
}

/** `[Symbol.asyncDispose]` is a key of the declarations. */
function symbolOf(key: string): symbol | undefined {
  if (key === '[Symbol.asyncDispose]') return Symbol.asyncDispose
  return key === '[Symbol.dispose]' ? Symbol.dispose : undefined
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function isClass(value: AnyFunction): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value))
}
