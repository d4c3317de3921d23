% Reads and plots the traces of a run in MATLAB (R2019a or later) or GNU Octave:
%   read_results('weld.out')
function traces = read_results(folder)
    if nargin < 1
        folder = 'weld.out';
    end
    traces = read_traces(fullfile(folder, 'traces.csv'));
    summary = jsondecode(fileread(fullfile(folder, 'summary.json')));
    fprintf('%d nodes, %d steps of %g s\n', summary.nodes, summary.steps, summary.increment);

    % Columns are named SET.LABEL.U1; those of one set start with its name and a point.
    chosen = strncmp(traces.names, 'MONITOR', 7);
    plot(1e6 * traces.time, 1e9 * traces.values(:, chosen));
    xlabel('Time / \mus');
    ylabel('Displacement / nm');
    legend(traces.names(chosen), 'Interpreter', 'none');
end

% traces.csv -> time (n x 1), names (1 x m), values (n x m). Lines that start with # carry units and provenance.
function traces = read_traces(path)
    file = fopen(path);
    if file < 0
        error('cannot open %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    line = fgetl(file);
    while ischar(line) && ~isempty(line) && line(1) == '#'
        line = fgetl(file);
    end
    names = strsplit(line, ',');
    format = repmat('%f', 1, numel(names));
    columns = textscan(file, format, 'Delimiter', ',', 'CollectOutput', true);
    traces.time = columns{1}(:, 1);
    traces.names = names(2:end);
    traces.values = columns{1}(:, 2:end);
end
