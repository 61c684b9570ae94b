import { showRedacted } from '../../base/redact.ts'
import { CATALOG } from '../catalog.ts'
import { type Command, GENERAL_OPTIONS, type Options } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'

interface CompletedCommand {
  readonly name: string
  readonly summary: string
  readonly options: Options
  readonly takesResource: boolean
}

/** The script for each shell. After `--`, the shell completes the user's command as it does elsewhere. */
const SHELLS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: (commands) => `_holdfast_resources() {
  # The shell splits words at colons, and a name may contain some. So the words are taken from the line.
  local line=\${COMP_LINE:0:COMP_POINT} word= quote= name i
  local -a words=() store=()
  for ((i = 0; i < \${#line}; i++)); do
    case $quote\${line:i:1} in
      \\\\ | '"\\') word+=\${line:(++i):1} ;;
      \\" | \\') quote=\${line:i:1} ;;
      '""' | "''") quote= ;;
      ' ') [[ -z $word ]] || words+=("$word"); word= ;;
      *) word+=\${line:i:1} ;;
    esac
  done
  for ((i = 2; i < \${#words[@]}; i++)); do
    case \${words[i]} in
      -s | --store) store=(--store "\${words[i + 1]}") ;;
      --store=*) store=("\${words[i]}") ;;
    esac
  done
  # What the shell replaces begins after the last colon, or after the quote that is open.
  local before=
  [[ $quote ]] || before=\${word%"\${word##*:}"}
  while IFS=$'\\t' read -r name _; do
    name=\${name#"$before"}
    [[ $quote ]] || printf -v name '%q' "$name"
    COMPREPLY+=("$name")
  done < <(holdfast ls "\${store[@]}" -- "$word" 2> /dev/null)
}
_holdfast() {
  local current=\${COMP_WORDS[COMP_CWORD]} i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- ]]; then
      compopt -o default; COMPREPLY=(); return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${names(commands)} --help --version' -- "$current")); return
  fi
  case \${COMP_WORDS[1]}:$current in
    ${namesWithResource(commands)
      .map((name) => `${name}:-*`)
      .join(' | ')}) ;;
    ${namesWithResource(commands)
      .map((name) => `${name}:*`)
      .join(' | ')}) _holdfast_resources; return ;;
  esac
  case \${COMP_WORDS[1]} in
${commands.map(({ name, options }) => `    ${name}) COMPREPLY=($(compgen -W '${flags(options)}' -- "$current")) ;;`).join('\n')}
  esac
}
complete -o default -F _holdfast holdfast
`,

  zsh: (commands) => `_holdfast_resources() {
  local -a names store
  store=(\${opt_args[--store]:+--store} \${opt_args[--store]:+\${(Q)opt_args[--store]}})
  names=(\${(f)"$(holdfast ls $store -- "$PREFIX" 2> /dev/null | cut -f 1)"})
  compadd -a names
}
_holdfast() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`).join('\n')}
  )
  if ((\${words[(I)--]} > 0 && \${words[(I)--]} < CURRENT)); then
    shift \${words[(i)--]} words
    ((CURRENT = \${#words}))
    _normal; return
  fi
  if ((CURRENT == 2)); then
    _describe command commands; return
  fi
  case \${words[2]} in
${commands.map(({ name, options, takesResource }) => `    ${name}) _arguments -S ${zshFlags(options)} '*: :${takesResource ? '_holdfast_resources' : '_default'}' ;;`).join('\n')}
  esac
}
compdef _holdfast holdfast
`,

  fish: (commands) =>
    [
      FISH_RESOURCES,
      'complete -c holdfast -f',
      ...commands.flatMap(({ name, summary, options }) => [
        `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
        ...Object.entries(options).map(
          ([flag, { short, value, help }]) =>
            `complete -c holdfast -n '__fish_seen_subcommand_from ${name}' -l ${flag}${short ? ` -s ${short}` : ''}${value ? ' -r' : ''} -d ${quote(help)}`,
        ),
      ]),
      `complete -c holdfast -n '__fish_seen_subcommand_from ${namesWithResource(commands).join(' ')}; and not contains -- -- (commandline -opc)' -a '(__holdfast_resources)'`,
      `complete -c holdfast -n '__fish_seen_subcommand_from run; and contains -- -- (commandline -opc)' -F`,
      '',
    ].join('\n'),
}

/** The names in the store that the line names, or in the configured one. */
const FISH_RESOURCES = `function __holdfast_resources
  set -l words (commandline -opc)
  set -l store
  for i in (seq (count $words))
    switch $words[$i]
      case -s --store
        set store --store $words[(math $i + 1)]
      case '--store=*'
        set store $words[$i]
    end
  end
  holdfast ls $store -- (string unescape -- (commandline -ct)) 2> /dev/null | cut -f 1
end`

export const completion: Command = {
  usage: `completion <${Object.keys(SHELLS).join('|')}>`,
  description:
    'Prints a script that completes commands, options and the names of held resources in your shell.',
  positionalCount: [1, 1],
  options: {},
  examples: [
    ['eval "$(holdfast completion bash)"', 'in ~/.bashrc'],
    ['eval "$(holdfast completion zsh)"', 'in ~/.zshrc, after compinit'],
    ['holdfast completion fish > ~/.config/fish/completions/holdfast.fish', 'once, for fish'],
  ],

  async run({ positionals: [shell = ''], terminal }) {
    const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
    if (!script)
      throw usageFailure(
        `unknown shell ${showRedacted(shell)}; expected one of ${Object.keys(SHELLS).join(', ')}`,
      )
    const commands = await Promise.all(
      Object.entries(CATALOG).map(async ([name, { summary, load }]) => {
        const { options, takesResource = false } = await load()
        return { name, summary, options: { ...options, ...GENERAL_OPTIONS }, takesResource }
      }),
    )
    terminal.write(script(commands))
    return EXIT.ok
  },
}

function names(commands: readonly CompletedCommand[]): string {
  return commands.map(({ name }) => name).join(' ')
}

function namesWithResource(commands: readonly CompletedCommand[]): string[] {
  return commands.filter(({ takesResource }) => takesResource).map(({ name }) => name)
}

function flags(options: Options): string {
  return Object.keys(options)
    .map((name) => `--${name}`)
    .join(' ')
}

function zshFlags(options: Options): string {
  return Object.entries(options)
    .map(([name, { value, help }]) =>
      quote(
        `--${name}${value ? '=' : ''}[${help.replaceAll(/[[\]]/g, '\\\\$&')}]${value ? `:${name}:` : ''}`,
      ),
    )
    .join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
